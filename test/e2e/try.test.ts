import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const node = process.env.GDN_TEST_NODE ?? process.execPath

let home: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gdn-try-'))
})

afterAll(async () => {
  await run(['bin/gdn.js', 'local', 'stop'])
  await rm(home, { recursive: true, force: true })
})

async function run(args: string[]) {
  const env = { PATH: process.env.PATH, HOME: home }
  return await execa(node, args, { cwd: root, env, extendEnv: false, reject: false, stdin: 'ignore' })
}

/** The commands that the output suggests, as arguments. */
function commandsIn(text: string): string[][] {
  const whole = text.replaceAll(/ \\\n +/g, ' ')
  const lines = [...whole.matchAll(/^ {2}node (bin\/gdn\.js .*)$/gm)].map(([, line = '']) => line)
  return lines.map((line) => [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word))
}

const contractIn = (text: string) => /0x[0-9a-fA-F]{40}/.exec(text)?.[0]

test('npm run try mints the example drop and verifies it on chain, and its suggested commands work', async () => {
  const first = await run(['examples/try.mjs'])
  expect(first, first.stderr).toMatchObject({ exitCode: 0 })
  expect(first.stdout).toContain('24 tokens, 5 owners')

  // The table fits the terminal, and uses tabs without one.
  expect(first.stdout.split('\n').filter((line) => !line.includes('\t') && line.length > 80)).toEqual([])
  const advised = commandsIn(first.stdout)
  expect(advised).toHaveLength(5)
  for (const command of advised.slice(0, 4)) {
    const { exitCode, stdout, stderr } = await run(command)
    expect(exitCode, `${command.join(' ')}\n${stderr}`).toBe(0)
    expect(stdout).not.toBe('')
  }

  const second = await run(['examples/try.mjs'])
  expect(second, second.stderr).toMatchObject({ exitCode: 0 })
  expect(second.stdout).toContain('already running')
  expect(contractIn(second.stdout)).not.toBe(contractIn(first.stdout))

  expect(await run(advised[4] ?? [])).toMatchObject({ exitCode: 0 })
  const status = await run(['bin/gdn.js', 'local', 'status', '--json'])
  expect(JSON.parse(status.stdout)).toMatchObject({ running: false })
})
