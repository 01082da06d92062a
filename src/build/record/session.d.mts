import type { Recorder } from './terminal.mjs'

export const SCREEN: { columns: number; rows: number }
export const TITLE: string
export function recordSession(
  recorder: Recorder,
  env: NodeJS.ProcessEnv,
  gdn: (...args: string[]) => Promise<string>,
): Promise<void>
