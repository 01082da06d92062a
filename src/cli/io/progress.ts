/** Progress of a long operation, shown on stderr. */
export interface Progress {
  update(text: string): void
  stop(): void
}
