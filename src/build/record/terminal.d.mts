import type { Frame } from './svg.mjs'

export class Recorder {
  readonly frames: Frame[]
  constructor(columns: number, rows: number, options?: { closerMs?: number })
  write(text: string): Promise<void>
  hold(ms: number): void
  type(text: string): Promise<void>
  run(program: string, args: readonly string[], env: NodeJS.ProcessEnv, options?: { killAt?: RegExp }): Promise<string>
}
