"""Reading files that others have written, in a process of its own that can reach nothing.

What runs in that process imports little: the standard library, PDFium for PDFs, and the cutting of texts.
"""
