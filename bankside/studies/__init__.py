"""Questions that Bankside answers: one module a study."""
