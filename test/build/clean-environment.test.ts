import { expect, onTestFinished, test, vi } from 'vitest'
import { ENVIRONMENT_VARIABLES } from '../../src/config/environment.ts'

test('no setting of gdn, no repository of a git hook and no umask of the person reaches the tests', async () => {
  const umask = process.umask(0o077)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    process.umask(umask)
  })
  const foreign = [...ENVIRONMENT_VARIABLES.map(({ name }) => name), 'XDG_STATE_HOME', 'FORCE_COLOR', 'GIT_DIR']
  for (const name of foreign) vi.stubEnv(name, 'of another')
  for (const name of ['GDN_SEED', 'GDN_TEST_NODE', 'HTTPS_PROXY']) vi.stubEnv(name, 'kept')
  vi.stubEnv('NO_PROXY', 'example.com')
  await import('../helpers/clean-environment.ts')
  expect(foreign.filter((name) => process.env[name] !== undefined)).toEqual([])
  expect(process.env).toMatchObject({ GDN_SEED: 'kept', GDN_TEST_NODE: 'kept', HTTPS_PROXY: 'kept' })
  expect(process.env.NO_PROXY).toBe('localhost,127.0.0.1,::1,example.com')
  expect(process.umask()).toBe(0o022)
})
