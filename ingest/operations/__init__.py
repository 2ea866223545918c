"""Operations of a job of several workers: what each of them follows, and what makes its steps longer."""
