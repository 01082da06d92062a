import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { newNames } from '../../src/wallet/new-names.ts'
import { reserve } from '../../src/wallet/reservation.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { LIGHT } from '../keystore/vectors.ts'

const TEXT = `${JSON.stringify(LIGHT.json)}\n`
const fine = async () => {}

let home: string
let folder: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gdn-wallets-'))
  folder = join(home, 'gdn', 'wallets')
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
})

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('a name is reserved', () => {
  test('by a hidden file that nobody takes for a wallet, of mode 600 in a folder of mode 700', async () => {
    const { path, release } = await reserve(folder, 'alice')
    expect(path).toBe(join(folder, 'alice.json'))
    expect(existsSync(path)).toBe(false)
    expect(readdirSync(folder)).toEqual(['.alice.part'])
    expect([modeOf(folder), modeOf(join(folder, '.alice.part'))]).toEqual(['700', '600'])
    await release()
  })

  test('with room on the disk for the keystore to come', async () => {
    const { release } = await reserve(folder, 'alice')
    expect(statSync(join(folder, '.alice.part')).size).toBeGreaterThan(TEXT.length)
    await release()
  })

  test('and given free without a trace', async () => {
    const reservation = await reserve(folder, 'alice')
    await reservation.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('by one process at a time', async () => {
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => reserve(folder, 'alice')))
    const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    for (const reservation of made) await reservation.release()
    expect(made).toHaveLength(1)
    expect(readdirSync(folder)).toEqual([])
    const reasons = all.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    for (const reason of reasons) expect(reason).toMatchObject({ code: 'invalid_input' })
  })

  test.each(['alice.json', 'alice.address'])('never where %s is', async (file) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, file), 'mine')
    await expect(reserve(folder, 'alice')).rejects.toThrow('exists already')
    expect(readdirSync(folder)).toEqual([file])
    expect(readFileSync(join(folder, file), 'utf8')).toBe('mine')
  })

  test('not through links: of the folder, or of what would be written', async () => {
    mkdirSync(join(home, 'elsewhere'), { mode: 0o700 })
    mkdirSync(join(home, 'gdn'))
    symlinkSync(join(home, 'elsewhere'), folder)
    await expect(reserve(folder, 'alice')).rejects.toThrow('symbolic link')
    rmSync(folder)
    mkdirSync(folder, { mode: 0o700 })
    symlinkSync(join(home, 'elsewhere', 'x'), join(folder, '.alice.part'))
    await expect(reserve(folder, 'alice')).rejects.toMatchObject({ code: 'invalid_input' })
    expect(readdirSync(join(home, 'elsewhere'))).toEqual([])
  })

  test('in a folder that others may look into only after it was closed, by the command that is told', async () => {
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o755)
    const refused: unknown = await reserve(folder, 'alice').catch((error: unknown) => error)
    const { hint } = refused as { hint: string }
    expect(hint).toBe(`Run \`chmod 700 '${folder}'\`.`)
    execFileSync('/bin/sh', ['-c', hint.slice('Run `'.length, -'`.'.length)])
    await (await reserve(folder, 'alice')).release()
  })

  test('on a full disk never, and nothing is left of the try', async ({ skip }) => {
    const disk = await createSmallDisk(64)
    if (typeof disk === 'string') return skip(disk)
    try {
      const full = join(disk.path, 'wallets')
      mkdirSync(full, { mode: 0o700 })
      await disk.fill()
      await expect(reserve(full, 'alice')).rejects.toThrow('ENOSPC')
      expect(readdirSync(full)).toEqual([])
    } finally {
      await disk.remove()
    }
  })
})

describe('a keystore gets its name', () => {
  test('when it is whole: mode 600, and nothing beside it', async () => {
    const reservation = await reserve(folder, 'alice')
    expect(await reservation.keep(TEXT, fine)).toBe(join(folder, 'alice.json'))
    expect(readdirSync(folder)).toEqual(['alice.json'])
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe(TEXT)
    expect(modeOf(join(folder, 'alice.json'))).toBe('600')
  })

  test('after what was written has been proven, and not otherwise', async () => {
    const reservation = await reserve(folder, 'alice')
    let seen = ''
    const prove = async (file: string) => {
      seen = readFileSync(file, 'utf8')
      throw new Error('the disk lies')
    }
    await expect(reservation.keep(TEXT, prove)).rejects.toThrow('the disk lies')
    expect(seen).toBe(TEXT)
    expect(existsSync(join(folder, 'alice.json'))).toBe(false)
    await reservation.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('or the next free one, where something has it by now: nothing is overwritten, nothing is lost', async () => {
    const reservation = await reserve(folder, 'alice')
    writeFileSync(join(folder, 'alice.json'), 'another')
    writeFileSync(join(folder, 'alice-2.json'), 'and another')
    expect(await reservation.keep(TEXT, fine)).toBe(join(folder, 'alice-3.json'))
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe('another')
    expect(readFileSync(join(folder, 'alice-3.json'), 'utf8')).toBe(TEXT)
  })

  test('where somebody cleared the reservation away, too', async () => {
    const reservation = await reserve(folder, 'alice')
    rmSync(join(folder, '.alice.part'))
    await reservation.keep(TEXT, fine)
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe(TEXT)
  })

  test('on a disk that became full meanwhile, too: its room was taken before', async ({ skip }) => {
    const disk = await createSmallDisk(64)
    if (typeof disk === 'string') return skip(disk)
    try {
      const reservation = await reserve(join(disk.path, 'wallets'), 'alice')
      await disk.fill()
      const file = await reservation.keep(TEXT, fine)
      expect(readFileSync(file, 'utf8')).toBe(TEXT)
    } finally {
      await disk.remove()
    }
  })
})

describe('what a gdn that was killed has left', () => {
  const left = (text: string) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, '.alice.part'), text, { mode: 0o600 })
  }

  test.each([
    [
      'a reservation of a process that is gone',
      JSON.stringify({ reserved_by: { pid: 2 ** 22 + 1, startedAt: '1', bootId: 'x' } }),
    ],
  ])('%s is cleared away', async (_what, text) => {
    left(text)
    const reservation = await reserve(folder, 'alice')
    await reservation.keep(TEXT, fine)
    expect(readdirSync(folder)).toEqual(['alice.json'])
  })

  test('a keystore that was written and had no name yet gets it', async () => {
    left(TEXT.padEnd(4096))
    await expect(reserve(folder, 'alice')).rejects.toThrow('exists already')
    expect(readdirSync(folder)).toEqual(['alice.json'])
    expect(readFileSync(join(folder, 'alice.json'), 'utf8').trim()).toBe(TEXT.trim())
  })

  test('anything else is kept, and told', async () => {
    left(TEXT.slice(0, 300))
    await expect(reserve(folder, 'alice')).rejects.toThrow('may have a key')
    expect(readFileSync(join(folder, '.alice.part'), 'utf8')).toBe(TEXT.slice(0, 300))
  })
})

describe('names', () => {
  test('are the one that was given, or that one with numbers', () => {
    expect(newNames(folder, '@alice', undefined)).toEqual(['alice'])
    expect(newNames(folder, 'buyer', 3)).toEqual(['buyer-1', 'buyer-2', 'buyer-3'])
  })

  test('are the next free numbers where none is given', () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, 'wallet-1.json'), '')
    writeFileSync(join(folder, 'wallet-3.address'), '')
    expect(newNames(folder, undefined, 2)).toEqual(['wallet-2', 'wallet-4'])
  })

  test.each([
    '',
    '.',
    '..',
    '.x',
    '../x',
    'a/b',
    'a\\b',
    'a b',
    '-x',
    'a\0',
    'ä',
    'con',
    'nul.x',
    'com1',
    'x'.repeat(64),
    'a.',
    '@',
    '@@a',
  ])('%j is none', (name) => {
    expect(() => newNames(folder, name, undefined)).toThrow('must be 1 to 63 of')
  })

  test('are in lower case; the right spelling is told', () => {
    expect(() => newNames(folder, 'Alice', undefined)).toThrow(expect.objectContaining({ hint: 'Use @alice.' }))
  })
})
