import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runsFolder } from './run-files.ts'

/** What names a run, as the header of its journal has it; unchecked, for suggestions alone. */
export interface RunName {
  id: string
  name: string
  /** As given with `--run`. */
  runName: string | null
  manifest: string | null
  blockchain: string
  startedAt: string
}

const HEADER_BYTES = 4096

/**
 * Names of the newest runs, newest first: what a shell offers at a press of a key. Reads the beginning of each journal
 * and checks nothing, which is ten times as fast as `listRuns`.
 */
export async function runNames(stateDir: string, atMost: number): Promise<RunName[]> {
  const folder = runsFolder(stateDir)
  const files = (await readdir(folder).catch(() => [])).filter((name) => /^[0-9a-f]{16}\.journal$/.test(name))
  const dated = await Promise.all(
    files.map(async (name) => ({
      name,
      at: await stat(join(folder, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    })),
  )
  const newest = dated.sort((a, b) => b.at - a.at).slice(0, atMost)
  const names = await Promise.all(newest.map(({ name }) => headerOf(join(folder, name)).catch(() => null)))
  return names.filter((name) => name !== null)
}

async function headerOf(path: string): Promise<RunName | null> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n', 1)
    const { id, name, run_name, manifest, blockchain, at } = JSON.parse(line.slice(line.indexOf('{')))
    const words = [id, name, blockchain, at]
    if (!words.every((word) => typeof word === 'string')) return null
    const text = (value: unknown) => (typeof value === 'string' ? value : null)
    return { id, name, runName: text(run_name), manifest: text(manifest), blockchain, startedAt: at }
  } finally {
    await file.close()
  }
}
