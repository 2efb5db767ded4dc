/* What a step took. Parts without data are left out. */
import { useQuery } from "@tanstack/react-query";
import { memo } from "react";
import { Link } from "wouter";
import { runStepsQuery, stepMetricsQuery } from "@/api/steps";
import { paths } from "@/components/links";
import { count, duration, fromNs, money, share } from "@/lib/format";

const LOOKS = 5;

export const StepLine = memo(function StepLine({ stepId, runId }: { stepId: string; runId: string }) {
  const steps = useQuery({
    ...runStepsQuery(runId),
    // The list may have been read before this step was saved.
    refetchInterval: ({ state }) => (state.data && !state.data.some((each) => each.id === stepId) && state.dataUpdateCount < LOOKS ? 600 : false),
  });
  const at = steps.data?.findIndex((each) => each.id === stepId) ?? -1;
  const step = steps.data?.[at];
  const metrics = useQuery({ ...stepMetricsQuery(stepId), enabled: step !== undefined }); // one that was stopped is not kept
  const cached = step?.prompt_tokens_details?.cached_tokens;
  const took = fromNs(metrics.data?.step_ns);
  return (
    <div className="step">
      <Link href={paths.run(runId)}>Step{at >= 0 ? ` ${at + 1}` : ""}</Link>
      <span className="rule" />
      {step && <span>{count(step.prompt_tokens)} in</span>}
      {step && cached ? <span className="opt">{share(cached, step.prompt_tokens)} cached</span> : null}
      {step && <span>{count(step.completion_tokens)} out</span>}
      {step?.cost_usd ? <span>{money(step.cost_usd)}</span> : null}
      {took !== null && <span>{duration(took)}</span>}
    </div>
  );
});
