import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LOG_FILE } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addCommonFlags, type CommonFlags, integer } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'

const POLL_INTERVAL_MS = 300
const MAX_CHUNK_BYTES = 4 * 1024 * 1024

export interface LogsFlags extends CommonFlags {
  follow?: boolean
  lines?: number
}

export function command(deps: Deps, run = logs): GdnCommand {
  return new GdnCommand({
    examples: [
      ['Show the last lines', 'gdn local logs --lines 20'],
      ['Follow the log', 'gdn local logs -f'],
    ],
  })
    .switchFlag('-f, --follow', 'Show new lines until you press Ctrl-C')
    .valueFlag('--lines <n>', 'Number of lines to show, from the end (100)', integer(0, 1_000_000))
    .with(addCommonFlags)
    .action(async (flags: LogsFlags) => await run(deps, flags))
}

export async function logs(deps: Deps, flags: LogsFlags): Promise<void> {
  const path = join(localDataDirectory(deps.env), LOG_FILE)
  const size = await readSize(path)
  if (size === undefined) {
    throw new GdnError('not_found_locally', `there is no log yet (${path})`, {
      hint: 'Run `gdn local start` to start the backend.',
    })
  }
  const lineCount = flags.lines ?? 100
  const text = await readFrom(path, Math.max(0, size - MAX_CHUNK_BYTES), size)
  const lines = text.split('\n').filter((line) => line !== '')
  await show(deps, lineCount === 0 ? [] : lines.slice(-lineCount))
  if (flags.follow) await follow(deps, path, size)
}

async function follow(deps: Deps, path: string, from: number): Promise<void> {
  let at = from
  let rest = ''
  for (;;) {
    await deps.sleep(POLL_INTERVAL_MS, deps.signals.signal)
    const size = (await readSize(path)) ?? 0
    if (size < at) at = 0
    if (size === at) continue
    const parts = (rest + (await readFrom(path, at, size))).split('\n')
    rest = parts.pop() ?? ''
    at = size
    await show(deps, parts)
  }
}

async function show({ io }: Deps, lines: readonly string[]): Promise<void> {
  await io.data(lines.map((line) => `${io.stdoutTty ? safe(line) : line}\n`).join(''))
}

async function readSize(path: string): Promise<number | undefined> {
  return await stat(path).then(
    (stats) => stats.size,
    () => undefined,
  )
}

async function readFrom(path: string, start: number, end: number): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } finally {
    await file.close()
  }
}
