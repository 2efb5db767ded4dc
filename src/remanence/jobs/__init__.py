"""Work that is done later, or over a long time, by whichever process takes it first."""
