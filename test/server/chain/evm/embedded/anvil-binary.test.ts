import { accessSync, constants } from 'node:fs'
import { describe, expect, test } from 'vitest'
import manifest from '../../../../../package.json' with { type: 'json' }
import { ANVIL_VERSION, findAnvil } from '../../../../../src/server/chain/evm/embedded/anvil-binary.ts'

describe('the anvil binary', () => {
  test('for this machine is installed with gdn and executable', () => {
    expect(() => accessSync(findAnvil(), constants.X_OK)).not.toThrow()
  })

  test.each([
    ['linux', 'x64', 'linux-amd64/bin/anvil'],
    ['linux', 'arm64', 'linux-arm64/bin/anvil'],
    ['darwin', 'x64', 'darwin-amd64/bin/anvil'],
    ['darwin', 'arm64', 'darwin-arm64/bin/anvil'],
    ['win32', 'x64', 'win32-amd64/bin/anvil.exe'],
  ])('for %s %s is in the package of that platform', (platform, arch, place) => {
    const found = findAnvil({ platform, arch, resolve: (specifier) => `/packages/${specifier}` })
    expect(found.replaceAll('\\', '/')).toBe(`/packages/@foundry-rs/anvil-${place}`)
  })

  test("is reported with the install command and its requirements if it's missing", () => {
    const resolve = () => {
      throw new Error('Cannot find module')
    }
    expect(() => findAnvil({ platform: 'linux', arch: 'arm64', resolve })).toThrow(
      expect.objectContaining({
        code: 'native_missing',
        message: expect.stringContaining('@foundry-rs/anvil-linux-arm64'),
        hint: expect.stringMatching(/npm install @foundry-rs\/anvil-linux-arm64@.*glibc 2\.35/),
      }),
    )
  })

  test('is reported with the supported platforms on any other platform', () => {
    expect(() => findAnvil({ platform: 'freebsd', arch: 'x64' })).toThrow(
      expect.objectContaining({ code: 'native_missing', message: expect.stringContaining('freebsd-x64') }),
    )
  })

  test('has the version that the package depends on, on every platform', () => {
    const expected = Object.entries(manifest.optionalDependencies).filter(([name]) => name.startsWith('@foundry-rs/'))
    expect(expected).toHaveLength(5)
    for (const [, version] of expected) expect(version).toBe(ANVIL_VERSION)
  })
})
