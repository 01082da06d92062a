/** @module-tag slow */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { GDN_BIN } from '../helpers/gdn-bin.ts'

const SOLANA = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'

/** A shell in an empty home with `gdn` in its PATH, as after an installation. */
async function newcomer() {
  const home = await mkdtemp(join(tmpdir(), 'gdn-tour-'))
  const bin = join(home, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'gdn'), `#!/bin/sh\nexec ${process.execPath} ${GDN_BIN} "$@"\n`, { mode: 0o755 })
  const env = { HOME: home, PATH: `${bin}:${process.env.PATH}`, GDN_KEYRING: 'off', GDN_NO_UPDATE_NOTICE: '1' }
  const sh = (line: string) => promisify(execFile)('sh', ['-c', line], { env, cwd: home })
  onTestFinished(async () => {
    await sh('gdn local stop')
    await rm(home, { recursive: true, force: true })
  })
  return sh
}

test.each([
  ['an EVM blockchain', '-b polygon --wallet 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ['no blockchain', '--wallet 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ['Solana', `-b solana --wallet ${SOLANA}`],
])('the three commands that gdn init ends with can be pasted and run, with %s', async (_what, flags) => {
  const sh = await newcomer()
  const { stderr } = await sh(`gdn init --local --start ${flags}`)
  const commands = [...stderr.matchAll(/: (gdn .+)$/gm)].map(([, line = '']) => line).slice(-3)
  expect(commands.map((line) => line.split(' ').slice(1, 3).join(' '))).toEqual([
    'collection create',
    'nft mint',
    'nft list',
  ])
  const [create = '', mint = '', list = ''] = commands
  await sh(create)
  await sh(mint)
  expect(JSON.parse((await sh(`${list} --json`)).stdout)).toMatchObject([
    { status: 'deployed', request_metadata: { title: 'Dawn' } },
  ])
})
