"""HTTP plumbing: error bodies, JSON and SSE responses, paging parameters, kinds of client."""
