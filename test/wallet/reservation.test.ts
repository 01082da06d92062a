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

describe('reserving a name', () => {
  test('creates a hidden file with mode 600 in a folder with mode 700, which is not listed as a wallet', async () => {
    const { path, release } = await reserve(folder, 'alice')
    expect(path).toBe(join(folder, 'alice.json'))
    expect(existsSync(path)).toBe(false)
    expect(readdirSync(folder)).toEqual(['.alice.part'])
    expect([modeOf(folder), modeOf(join(folder, '.alice.part'))]).toEqual(['700', '600'])
    await release()
  })

  test('allocates room on the disk for the keystore', async () => {
    const { release } = await reserve(folder, 'alice')
    expect(statSync(join(folder, '.alice.part')).size).toBeGreaterThan(TEXT.length)
    await release()
  })

  test('leaves nothing behind when it is released', async () => {
    const reservation = await reserve(folder, 'alice')
    await reservation.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('succeeds for one process at a time', async () => {
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => reserve(folder, 'alice')))
    const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    for (const reservation of made) await reservation.release()
    expect(made).toHaveLength(1)
    expect(readdirSync(folder)).toEqual([])
    const reasons = all.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    for (const reason of reasons) expect(reason).toMatchObject({ code: 'invalid_input' })
  })

  test('fails if the keystore exists', async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, 'alice.json'), 'mine')
    await expect(reserve(folder, 'alice')).rejects.toThrow('already exists')
    expect(readdirSync(folder)).toEqual(['alice.json'])
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe('mine')
  })

  test('fails if the folder or the file is a link', async () => {
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

  test('rejects a folder that others can read, with the command to fix it', async () => {
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o755)
    const refused: unknown = await reserve(folder, 'alice').catch((error: unknown) => error)
    const { hint } = refused as { hint: string }
    expect(hint).toBe(`Run \`chmod 700 ${folder}\`.`)
    execFileSync('/bin/sh', ['-c', hint.slice('Run `'.length, -'`.'.length)])
    await (await reserve(folder, 'alice')).release()
  })

  test('fails on a full disk, and leaves nothing behind', async ({ skip }) => {
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

describe('naming a keystore', () => {
  test('happens when it is complete, with mode 600 and no other file beside it', async () => {
    const reservation = await reserve(folder, 'alice')
    expect(await reservation.keep(TEXT, fine)).toBe(join(folder, 'alice.json'))
    expect(readdirSync(folder)).toEqual(['alice.json'])
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe(TEXT)
    expect(modeOf(join(folder, 'alice.json'))).toBe('600')
  })

  test('happens only after the written file was verified', async () => {
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

  test('uses the next free name if the name is taken by now, and overwrites nothing', async () => {
    const reservation = await reserve(folder, 'alice')
    writeFileSync(join(folder, 'alice.json'), 'another')
    writeFileSync(join(folder, 'alice-2.json'), 'and another')
    expect(await reservation.keep(TEXT, fine)).toBe(join(folder, 'alice-3.json'))
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe('another')
    expect(readFileSync(join(folder, 'alice-3.json'), 'utf8')).toBe(TEXT)
  })

  test('succeeds even if the reservation was deleted', async () => {
    const reservation = await reserve(folder, 'alice')
    rmSync(join(folder, '.alice.part'))
    await reservation.keep(TEXT, fine)
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe(TEXT)
  })

  test('succeeds on a disk that became full, because the room was allocated', async ({ skip }) => {
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

describe('after gdn was killed', () => {
  const left = (text: string) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, '.alice.part'), text, { mode: 0o600 })
  }

  test.each([
    [
      'a reservation of a process that has ended',
      JSON.stringify({ reserved_by: { pid: 2 ** 22 + 1, startedAt: '1', bootId: 'x' } }),
    ],
  ])('%s is removed', async (_what, text) => {
    left(text)
    const reservation = await reserve(folder, 'alice')
    await reservation.keep(TEXT, fine)
    expect(readdirSync(folder)).toEqual(['alice.json'])
  })

  test('a keystore that was written but not named gets its name', async () => {
    left(TEXT.padEnd(4096))
    await expect(reserve(folder, 'alice')).rejects.toThrow('already exists')
    expect(readdirSync(folder)).toEqual(['alice.json'])
    expect(readFileSync(join(folder, 'alice.json'), 'utf8').trim()).toBe(TEXT.trim())
  })

  test('any other file is kept and reported', async () => {
    left(TEXT.slice(0, 300))
    await expect(reserve(folder, 'alice')).rejects.toThrow('may contain a key')
    expect(readFileSync(join(folder, '.alice.part'), 'utf8')).toBe(TEXT.slice(0, 300))
  })
})

describe('names', () => {
  test('are the given one, or the given one with numbers', () => {
    expect(newNames(new Set(), '@alice', undefined)).toEqual(['alice'])
    expect(newNames(new Set(), 'buyer', 3)).toEqual(['buyer-1', 'buyer-2', 'buyer-3'])
  })

  test('are the next free numbers if none is given', () => {
    expect(newNames(new Set(['wallet-1', 'wallet-3']), undefined, 2)).toEqual(['wallet-2', 'wallet-4'])
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
  ])('do not include %j', (name) => {
    expect(() => newNames(new Set(), name, undefined)).toThrow('must be 1 to 63 characters long')
  })

  test('are in lower case, and another case is rejected with the right spelling', () => {
    expect(() => newNames(new Set(), 'Alice', undefined)).toThrow(expect.objectContaining({ hint: 'Use @alice.' }))
  })
})
