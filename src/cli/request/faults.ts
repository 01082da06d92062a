import { resolve } from 'node:path'
import { readText } from '../../config/read-text.ts'
import { type Io, safe } from '../io/io.ts'

const MAX_FAULTS_BYTES = 1024 * 1024

export async function readFaults(
  cwd: string,
  path: string | undefined,
): Promise<{ text: string; file: string } | undefined> {
  if (path === undefined) return undefined
  return { text: await readText(resolve(cwd, path), MAX_FAULTS_BYTES, 'invalid_config'), file: path }
}

/** Warns that this backend injects faults, and lists them. */
export function announceFaults(io: Io, faults: readonly string[]): void {
  if (faults.length === 0) return
  io.warn(io.errPaint.bold('FAULT INJECTION: this backend fails on purpose (--faults).'))
  for (const sentence of faults) io.warn(`  ${safe(sentence)}`)
}
