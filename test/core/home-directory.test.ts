import { isAbsolute } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { homeDirectory } from '../../src/core/home-directory.ts'

const account = () => '/home/account'
const noAccount = (): string => {
  throw new Error('ENOENT')
}

test('is an absolute HOME', () => {
  expect(homeDirectory({ HOME: '/home/me' }, noAccount)).toBe('/home/me')
})

test.each([[{}], [{ HOME: '' }], [{ HOME: 'me' }]])(
  'is that of the account for %j, never the current directory',
  (env) => {
    expect(homeDirectory(env, account)).toBe('/home/account')
  },
)

test.each([
  [{}, 'is not set'],
  [{ HOME: '' }, 'is not set'],
  [{ HOME: 'me' }, 'is not an absolute path'],
])('is reported as missing for %j without an account, with the fix', (env, problem) => {
  expect(() => homeDirectory(env, noAccount)).toThrow(
    expect.objectContaining({
      code: 'invalid_config',
      message: `${problem}, and this user has no account with a home directory`,
      hint: 'Run `export HOME=<absolute path>` with a directory that you own.',
      place: { field: 'HOME' },
    }),
  )
})

test('is never relative for an empty HOME, and reported for a user without an account', () => {
  vi.stubEnv('HOME', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  let found: string
  try {
    found = homeDirectory(process.env)
  } catch (error) {
    return expect(error).toMatchObject({ place: { field: 'HOME' } })
  }
  expect(isAbsolute(found)).toBe(true)
})
