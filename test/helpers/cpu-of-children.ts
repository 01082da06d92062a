import { readdir, readFile } from 'node:fs/promises'

/** The fields of /proc/<pid>/stat have this many units per second on every architecture of Linux. */
const TICKS = 100

/** Whether this system reports the CPU time of other processes. */
export const HAS_PROC = process.platform === 'linux'

/** Returns CPU seconds of a process: its own, and those of its children that have ended. */
async function secondsOf(pid: string): Promise<{ own: number; children: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The name of the program comes first, and may have spaces.
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return { own: (user + system) / TICKS, children: (childUser + childSystem) / TICKS }
}

/** Returns CPU seconds of the children of this process that have ended, with their own children. */
export const secondsOfChildren = async (): Promise<number> => (await secondsOf('self')).children

/**
 * Notes the CPU seconds of each process that runs with this home directory. Background processes have left their
 * parent, so they don't count as its children.
 *
 * @param noted seconds by process ID, which gets the new values
 * @returns the IDs of these processes
 */
export async function noteSecondsOfHome(home: string, noted: Map<string, number>): Promise<number[]> {
  if (!HAS_PROC) return []
  const running: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    try {
      const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')
      if (!environment.includes(`HOME=${home}`)) continue
      const { own, children } = await secondsOf(pid)
      noted.set(pid, own + children)
      running.push(Number(pid))
    } catch {
      // It belongs to another user, or has ended.
    }
  }
  return running
}
