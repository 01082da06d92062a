import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { readPasswordFile } from '../../src/keystore/password.ts'
import { readSecretFile } from '../../src/keystore/private-file.ts'

let path: string

beforeEach(() => {
  const dir = mkdtempSync(join(tmpdir(), 'gdn-private-'))
  path = join(dir, "it's here")
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
})

const refusal = (): GdnError => {
  try {
    readSecretFile(path, 100)
  } catch (error) {
    if (error instanceof GdnError) return error
    throw error
  }
  throw new Error('it was read')
}

describe.skipIf(platform === 'win32')('a file with a secret', () => {
  test('is read if only its owner has access', () => {
    writeFileSync(path, 'pässword\n', { mode: 0o600 })
    expect(readSecretFile(path, 100)).toBe('pässword\n')
    expect(readPasswordFile(path).reveal()).toBe('pässword')
    chmodSync(path, 0o400)
    expect(readSecretFile(path, 100)).toBe('pässword\n')
  })

  test.each([0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666])(
    'of mode %o is rejected with the command that fixes it',
    (mode) => {
      writeFileSync(path, 'x')
      chmodSync(path, mode)
      const { code, hint } = refusal()
      expect(code).toBe('invalid_input')
      expect(hint).toBe(`Run \`chmod 600 '${path.replace("'", "'\\''")}'\`.`)
      execFileSync('/bin/sh', ['-c', hint?.slice('Run `'.length, -'`.'.length) ?? ''])
      expect(readSecretFile(path, 100)).toBe('x')
    },
  )

  test('is rejected if it is a symbolic link, even to a good file', () => {
    writeFileSync(`${path}.real`, 'x', { mode: 0o600 })
    symlinkSync(`${path}.real`, path)
    expect(refusal().message).toContain('symbolic link')
  })

  test('is rejected without waiting if it is a directory, pipe or device', () => {
    mkdirSync(path)
    expect(refusal().message).toContain('directory')
    rmSync(path, { recursive: true })
    execFileSync('mkfifo', ['-m', '600', path])
    expect(refusal().message).toContain('not a regular file')
    path = '/dev/zero'
    expect(refusal().message).toContain('not a regular file')
  })

  test('is reported as missing, too large or not text', () => {
    expect(refusal().message).toContain("doesn't exist")
    writeFileSync(path, 'x'.repeat(101), { mode: 0o600 })
    expect(refusal().message).toContain('larger than 100')
    writeFileSync(path, Buffer.from([0xff, 0xfe]))
    expect(refusal().message).toContain('UTF-8')
  })
})
