import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { execa } from 'execa'
import { HAS_PROC, noteSecondsOfHome } from './cpu-of-children.ts'
import { ownPort } from './own-port.ts'
import { HAS_PTY, PTY } from './terminal.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const QUICK_SCRYPT = fileURLToPath(new URL('quick-scrypt.cjs', import.meta.url))
const GDN = `"${process.env.GDN_TEST_NODE || process.execPath}" "${ROOT}bin/gdn.js" "$@"`

/** Commands that run until they are stopped. */
const KEEPS_RUNNING = /^gdn (serve|worker|local listen)\b/m

/** A text of a page that names what a test machine can't have, and what the test uses in its place. */
export type StandIn = readonly [text: string, inItsPlace: string]

export const readPage = (page: string): Promise<string> => readFile(join(ROOT, page), 'utf8')

/** Returns the shell blocks of a page, in the order in which a user pastes them. */
export const shellBlocks = (text: string): string[] =>
  [...text.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, block = '']) => block)

/**
 * Returns the pages of the repository that have shell blocks, as paths from its root. docs/commands isn't among them:
 * test/cli/help/examples.test.ts checks the help texts from which it is generated.
 */
export async function pagesToPaste(): Promise<string[]> {
  const folders = await Promise.all(
    ['', 'docs', 'examples', 'examples/deploy'].map(async (folder) =>
      (await readdir(join(ROOT, folder))).map((name) => join(folder, name)),
    ),
  )
  const pages = folders.flat().filter((name) => name.endsWith('.md'))
  const haveBlocks = await Promise.all(pages.map(async (page) => shellBlocks(await readPage(page)).length > 0))
  return pages.filter((_, i) => haveBlocks[i]).sort()
}

type OnPrompt = (question: string) => Promise<void>

/** A user of the documentation: an empty home directory, and a folder like a clone of the repository in it. */
export interface Reader {
  readonly home: string
  /** CPU seconds of the background processes that the end of a page or of the reader has stopped, by process ID. */
  readonly background: ReadonlyMap<string, number>
  /**
   * Pastes the blocks of a page into a terminal in the clone. After a command that keeps running, it goes on in another
   * terminal. Stops at the first command that fails or prompts. At the end, Ctrl-C is pressed in each terminal.
   *
   * @param onPrompt called at each prompt, which is then answered with yes
   * @returns what the terminal of the failed command has printed; null if none failed
   */
  paste(text: string, standIns: readonly StandIn[], onPrompt?: OnPrompt): Promise<string | null>
  /** Returns the names of the files and folders in the clone. */
  filesInClone(): Promise<string[]>
  close(): Promise<void>
}

/**
 * @param programs shell scripts by name, for programs that a test machine can't have
 * @param scrypt `quick` derives the keys of keystores with less work than the files say. Each derivation with the
 * product's parameters takes a second of CPU.
 */
export async function startReader(
  programs: Readonly<Record<string, string>>,
  scrypt: 'real' | 'quick' = 'real',
): Promise<Reader> {
  const home = await mkdtemp(join(tmpdir(), 'gdn-reader-'))
  const clone = join(home, 'clone')
  await cp(join(ROOT, 'examples'), join(clone, 'examples'), { recursive: true })
  const bin = join(home, 'bin')
  await mkdir(bin)
  const port = await ownPort()
  for (const [name, script] of Object.entries({ gdn: gdnInTerminal(port), ...programs }))
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const env = {
    ...{ HOME: home, PATH: `${bin}:${process.env.PATH}`, TMPDIR: process.env.TMPDIR },
    // Neither the keyring nor the browser of the person who runs the tests, and no pager, which waits for a key.
    ...{ GDN_KEYRING: 'off', BROWSER: 'none', NO_PAGER: '1', TERM: 'xterm-256color', SHELL: '/bin/sh' },
    ...(scrypt === 'quick' ? { NODE_OPTIONS: `--require "${QUICK_SCRYPT}"` } : {}),
  }
  const options = { cwd: clone, env, extendEnv: false, reject: false, all: true, stdin: 'ignore' } as const
  const run = (script: string) => execa('bash', ['-c', `set -euo pipefail\n${script}`], options)
  // On a terminal, a prompt would read the lines that are pasted after its command.
  const runAtTerminal = async (script: string, onPrompt: OnPrompt | undefined) => {
    if (!HAS_PTY) return await run(script)
    const file = join(home, 'typed.sh')
    await writeFile(file, `set -euo pipefail\n${script}`)
    const stdin = onPrompt === undefined ? 'ignore' : 'pipe'
    const terminal = execa(PTY, ['-qec', `bash ${file}`, '/dev/null'], { ...options, stdin })
    let [shown, prompts, failure] = ['', false, null as unknown]
    terminal.stdout.on('data', (text: Buffer) => {
      // A question replaces a spinner on its line.
      shown += stripVTControlCharacters(text.toString().replaceAll(/\u001b\[\d*[GK]/g, '\n'))
      // It shows the question again with the answer.
      if (prompts && shown.includes('✔')) [shown, prompts] = [shown.slice(shown.lastIndexOf('✔')), false]
      const question = /^\? [^✔]*/m.exec(shown)?.[0]
      if (prompts || question === undefined || (onPrompt !== undefined && !question.includes('(y/N)'))) return
      ;[shown, prompts] = ['', true]
      if (onPrompt === undefined) return void terminal.kill()
      onPrompt(question).then(
        () => terminal.stdin?.write('y\r'),
        (error: unknown) => {
          failure = error
          terminal.kill()
        },
      )
    })
    const { exitCode, all } = await terminal
    if (failure !== null) throw failure
    return { exitCode: prompts ? 'of a prompt' : exitCode, all }
  }
  const background = new Map<string, number>()
  return {
    home,
    background,
    async paste(text, standIns, onPrompt) {
      const terminals = ['']
      for (const block of shellBlocks(text)) {
        terminals[terminals.length - 1] += block
        if (KEEPS_RUNNING.test(block)) terminals.push('')
      }
      const url = `http://127.0.0.1:${port}`
      const all: readonly StandIn[] = [['http://127.0.0.1:4680', url], ['http://127.0.0.1:4681', url], ...standIns]
      let problem: string | null = null
      for (const typed of terminals) {
        const { exitCode, all: printed } = await runAtTerminal(
          all.reduce((done, [from, to]) => done.replaceAll(from, to), typed),
          onPrompt,
        )
        if (exitCode === 0) continue
        problem = `exit code ${exitCode}\n${printed}`
        break
      }
      await noteSecondsOfHome(home, background)
      await run(STOP_TERMINALS)
      return problem
    },
    filesInClone: () => readdir(clone),
    async close() {
      // To stop each backend with gdn would take longer than some of the pages.
      for (const pid of await noteSecondsOfHome(home, background)) kill(pid)
      while ((await noteSecondsOfHome(home, new Map())).length > 0) await setTimeout(50)
      if (!HAS_PROC) await run(`${STOP_TERMINALS}\ngdn local stop`)
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    },
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has ended.
  }
}

/** Stops the commands that keep running, as Ctrl-C does, and waits until they have ended. */
const STOP_TERMINALS = `for pid in $(cat "$HOME/running" 2>/dev/null); do
  kill "$pid" 2>/dev/null || true
  while ps -o stat= -p "$pid" | grep -qv '^Z'; do sleep 0.1; done
done
rm -f "$HOME/running"`

/**
 * gdn, whose commands that keep running return when they are ready. `gdn serve` listens on a port that is free here.
 */
const gdnInTerminal = (port: number) => `case "$1 \${2:-}" in
  serve*) set -- "$@" --port ${port};;
  worker*|'local listen') ;;
  *) exec ${GDN};;
esac
log=$(mktemp -p "$HOME")
setsid ${GDN} >"$log" 2>&1 &
echo $! >> "$HOME/running"
until grep -q 'Press Ctrl-C' "$log"; do
  kill -0 $! 2>/dev/null || { cat "$log" >&2; exit 1; }
  sleep 0.1
done`
