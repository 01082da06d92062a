import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CommandTree } from '../../src/cli/command-tree.ts'
import { SHELLS } from '../completion/shells.ts'
import { enterDrop } from '../helpers/drops.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { enterCollections } from '../helpers/known-collections.ts'
import { saveAddresses } from '../helpers/saved-addresses.ts'

const NODE = process.env.GDN_TEST_NODE || process.execPath
const folder = fileURLToPath(new URL('../../completions/', import.meta.url))

const ADDRESS = '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811'
const OTHER = '0xbbb8d63F581412d5a7Bc255261a9c0a5f32c0811'
/** Leaves a file behind if a shell executes it instead of treating it as text. */
const HOSTILE = '$(>ran)`>ran`;>ran #\'"\\ \n\r\u001b]0;x\u0007'

let home: GdnHome
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  home = await makeHome()
  const state = join(home.dir, 'state', 'gdn')
  await mkdir(state, { recursive: true })
  await mkdir(join(home.dir, 'config', 'gdn'), { recursive: true })
  await mkdir(join(home.dir, 'work'))
  await mkdir(join(home.dir, 'bin'))
  await writeFile(join(home.dir, 'bin', 'gdn'), `#!/bin/sh\nexec "${NODE}" "${GDN_BIN}" "$@"\n`)
  await chmod(join(home.dir, 'bin', 'gdn'), 0o755)
  const profiles = { main: { base_url: 'https://api.example' }, [HOSTILE]: {} }
  await writeFile(join(home.dir, 'config', 'gdn', 'config.json'), JSON.stringify({ profiles }))
  await enterCollections(
    state,
    { transaction_gdn_id: '1', contract_address: ADDRESS },
    { transaction_gdn_id: '2', contract_address: OTHER, name: HOSTILE },
    { transaction_gdn_id: '3', contract_address: HOSTILE, name: 'x' },
  )
  for (const [id, name] of [
    ['0123456789abcdef', 'drop-0123'],
    ['fedcba9876543210', HOSTILE],
  ] as const) {
    await enterDrop(state, ADDRESS, { id, name, runName: name })
  }
  const wallets = join(home.dir, 'data', 'gdn', 'wallets')
  await mkdir(wallets, { recursive: true })
  await writeFile(join(wallets, 'alice.json'), JSON.stringify({ address: ADDRESS.slice(2), version: 3 }))
  await saveAddresses(state, { bob: OTHER })
  await writeFile(join(wallets, `${HOSTILE.replaceAll('/', '')}.json`), HOSTILE)
  env = { ...home.env, PATH: `${join(home.dir, 'bin')}:${process.env.PATH}` }
})

afterAll(() => home.remove())

const leftBehind = async () => {
  const { stdout } = await execa('find', [home.dir, '-name', 'ran*'])
  return stdout
}

describe.each(SHELLS.map((shell) => [shell.name, shell] as const))(
  '%s completes values of this machine',
  (_name, shell) => {
    const isMissing = !shell.isThere
    beforeEach(({ skip }) => skip(isMissing, `${shell.name} is not installed`))

    test.each([
      ['profiles', 'gdn nft list --profile ', ['local', 'main']],
      [
        'runs by name, or by ID if the name has control characters',
        'gdn batch status ',
        ['drop-0123', 'fedcba9876543210'],
      ],
      ['names given with --run', 'gdn batch mint drop.csv --run ', ['drop-0123']],
      ['collections', 'gdn nft list --contract ', [ADDRESS, OTHER]],
      ['collections in the same word', 'gdn nft list --contract=0xa', [ADDRESS]],
      ['collections of a server', 'gdn nft list --profile main -c ', []],
      ['names of wallets and addresses', 'gdn nft mint --receiver ', ['@alice', '@bob']],
      ['partial names', 'gdn nft mint --receiver @a', ['@alice']],
      ['names in the same word', 'gdn nft mint --receiver=@b', ['@bob']],
      ['names of wallets as an argument', 'gdn wallet export @al', ['@alice']],
    ])('offers %s, and executes nothing of a hostile name', async (_what, line, expected) => {
      const [found = []] = await shell.offers([line], { folder, env, cwd: join(home.dir, 'work') })
      expect(found.map(({ value }) => value.replace(/^.*=/, '').replaceAll("'", '')).sort()).toEqual(expected)
      for (const { value, what } of found) expect(value + what).not.toMatch(/\p{Cc}/u)
      expect(await leftBehind()).toBe('')
    })

    test('shows collections with their names', async () => {
      const [found = []] = await shell.offers(['gdn nft list -c '], { folder, env })
      expect(found.find(({ value }) => value === ADDRESS)?.what).toContain('Tidal Hours, polygon')
    })
  },
)

test('bash offers a value of this machine for every flag and argument that takes one', async ({ skip }) => {
  const bash = SHELLS.find(({ name }) => name === 'bash')
  if (bash === undefined || !bash.isThere) return skip('bash is not installed')
  const known = {
    ...{ profile: 'main', run: 'drop-0123', run_name: 'drop-0123', collection: ADDRESS, address: '@alice' },
  } as Readonly<Record<string, string>>
  const tree: CommandTree = JSON.parse((await home.run(['help', '--json'])).stdout)
  const places = tree.commands.flatMap(({ name, flags, arguments: args }) => [
    ...flags.map((flag) => ({ line: `gdn ${name} ${flag.name} `, value: known[flag.type] })),
    ...args.slice(0, 1).map(({ type }) => ({ line: `gdn ${name} `, value: known[type] })),
  ])
  const live = places.filter(({ value }) => value !== undefined)
  expect(live.length).toBeGreaterThan(50)
  const found = await bash.offers(
    live.map(({ line }) => line),
    { folder, env, cwd: join(home.dir, 'work') },
  )
  const without = live.filter(({ value }, i) => !found[i]?.some((offer) => offer.value.replaceAll("'", '') === value))
  expect(without).toEqual([])
})

// A terminal by script(1) of util-linux, as in cli-terminal.test.ts: input goes through the shell's own editor.
const PTY = 'script'
const HAS_PTY = spawnSync(PTY, ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

describe('pressing Tab on a terminal', () => {
  beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

  test.for([
    ['bash', (file: string) => `bash --norc --noprofile -i -c 'exec bash --rcfile ${file} -i'`, 'gdn completion bash'],
    ['zsh', (file: string) => `ZDOTDIR=${file}.d zsh -i`, 'gdn completion zsh'],
    ['fish', (file: string) => `fish --no-config --init-command 'source ${file}'`, 'gdn completion fish'],
  ] as const)(
    '%s runs the completed command, with the script that gdn completion prints',
    async ([name, start, print], { skip }) => {
      const shell = SHELLS.find((one) => one.name === name)
      skip(shell?.isThere !== true, `${name} is not installed`)
      const file = join(home.dir, `rc-${name}`)
      const out = join(home.dir, `typed-${name}`)
      await mkdir(`${file}.d`, { recursive: true })
      const { stdout } = await execa(print, { shell: true, env, extendEnv: false })
      // Replaces gdn and records its arguments. Completions still call the real one.
      const stand =
        name === 'fish' ? `function gdn; printf '<%s>' $argv >${out}; end` : `gdn() { printf '<%s>' "$@" >${out}; }`
      const prompt = name === 'fish' ? "function fish_prompt; printf '> '; end" : "PS1='> '"
      const setUp = name === 'zsh' ? 'autoload -Uz compinit; compinit -u -D' : ''
      const rc = `${setUp}\n${stdout}\n${stand}\n${prompt}\n`
      await writeFile(file, rc)
      await writeFile(join(`${file}.d`, '.zshrc'), rc)
      const terminal = spawn(PTY, ['-qec', start(file), '/dev/null'], {
        env: { ...env, TERM: 'xterm', SHELL: '/bin/sh' },
        cwd: join(home.dir, 'work'),
      })
      onTestFinished(() => void terminal.kill('SIGKILL'))
      let screen = ''
      terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
        screen += text
      })
      /** Types, and waits for the completed text. */
      const type = async (keys: string, added: string) => {
        const before = screen.length
        terminal.stdin.write(keys)
        await vi.waitFor(() => expect(screen.slice(before)).toContain(added), { timeout: 60_000, interval: 20 })
      }
      await type('', '> ')
      await type('gdn nft transf\t', 'er')
      await type('x --prof\t', 'ile')
      await type('ma\t', 'in')
      await type('-o nd\t', 'json')
      await type('--receiver @al\t', 'ice')
      terminal.stdin.write('\r')
      await vi.waitFor(() => expect(existsSync(out)).toBe(true), { timeout: 60_000, interval: 20 })
      expect(await readFile(out, 'utf8')).toBe('<nft><transfer><x><--profile><main><-o><ndjson><--receiver><@alice>')
    },
  )
})

describe('gdn completion', () => {
  test.each([
    ['bash', 'gdn.bash'],
    ['zsh', '_gdn'],
    ['fish', 'gdn.fish'],
    ['powershell', 'gdn.ps1'],
  ])('%s prints the script of that shell', async (shell, file) => {
    const { code, stdout, stderr } = await home.run(['completion', shell])
    expect({ code, stderr, stdout }).toEqual({
      code: 0,
      stderr: '',
      stdout: await readFile(join(folder, file), 'utf8'),
    })
  })

  test.each([
    ['bsh', 'Did you mean bash?'],
    ['pwsh', 'Did you mean powershell?'],
    ['tcsh!', 'bash, zsh, fish, powershell'],
  ])('%s fails with the list of supported shells', async (shell, hint) => {
    const { code, stdout, stderr } = await home.run(['completion', shell])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(hint)
  })

  test('a completion takes little more than Node itself: 60 ms on a machine where Node takes 30', () => {
    const time = (args: string[]) => {
      const start = performance.now()
      spawnSync(NODE, args, { env })
      return performance.now() - start
    }
    const bare: number[] = []
    const requests: number[] = []
    const ratio = () => Math.min(...requests) / Math.min(...bare)
    // Compares the fastest of several tries, because a busy machine slows many of them down.
    for (let i = 0; i < 8 || (ratio() >= 3 && i < 80); i++) {
      bare.push(time(['-e', '0']))
      requests.push(time([GDN_BIN, '__complete', 'collections', 'nft', 'list', '-c']))
    }
    expect(ratio()).toBeLessThan(3)
  })
})
