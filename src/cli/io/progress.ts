export interface Progress {
  update(text: string): void
  stop(): void
}

/** Shows progress on stderr while an action runs. */
export async function withProgress<Result>(
  io: { progress(text: string): Promise<Progress> },
  text: string,
  task: (progress: Progress) => Promise<Result>,
): Promise<Result> {
  const progress = await io.progress(text)
  try {
    return await task(progress)
  } finally {
    progress.stop()
  }
}
