import { execa } from 'execa'

/** The slowest start for which limits of CPU time hold as they are. On slower machines, all else takes longer, too. */
const USUAL_START_MS = 70

/** CPU milliseconds in which a bare Node.js starts: how fast the machine is meanwhile. */
export async function startOfNode(): Promise<number> {
  const script = 'const { user, system } = process.cpuUsage(); console.log((user + system) / 1000)'
  return Number((await execa(process.execPath, ['-e', script])).stdout)
}

/** The median of such starts, and by which factor the machine is slower than usual: at least 1. */
export function slownessOf(starts: readonly number[]): { startMs: number; slowness: number } {
  const startMs = starts.toSorted((a, b) => a - b)[starts.length >> 1] ?? 0
  return { startMs, slowness: Math.max(1, startMs / USUAL_START_MS) }
}
