/** Something that takes a while, shown on stderr. */
export interface Progress {
  update(text: string): void
  stop(): void
}
