import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { checkSignedUrl, type WalletHosts } from '../../src/wallet/signed-url.ts'
import { runs } from '../helpers/runs.ts'

const HOSTED: WalletHosts = { baseUrl: 'https://api.example.com/v', walletUrl: null }
const WITH_HOST: WalletHosts = {
  baseUrl: 'https://api.example.com',
  walletUrl: { value: 'https://wallet.example.com/any', from: 'GDN_WALLET_URL' },
}
const PATH = '/v1/wallet/create?expiry=1&signature=5161a7'

const fault = (url: string, hosts: WalletHosts): GdnError => {
  try {
    checkSignedUrl(url, hosts)
  } catch (error) {
    if (error instanceof GdnError) return error
    throw error
  }
  throw new Error(`${url} was taken`)
}

describe('a signed URL is accepted', () => {
  test.each([
    ['on the origin of the server', `https://api.example.com${PATH}`, HOSTED],
    ['with its usual port', `https://api.example.com:443${PATH}`, HOSTED],
    ['on the host that the user named', `https://wallet.example.com${PATH}`, WITH_HOST],
    ['on loopback without TLS', `http://127.0.0.1:4680${PATH}`, { baseUrl: 'http://127.0.0.1:4680', walletUrl: null }],
  ])('%s', (_what, url, hosts) => {
    expect(checkSignedUrl(url, hosts).href).toContain('signature=5161a7')
  })
})

describe('a signed URL elsewhere is rejected, because the server that responds knows the key', () => {
  test.each([
    ['another host', `https://evil.example${PATH}`, HOSTED],
    ['a subdomain', `https://wallet.api.example.com${PATH}`, HOSTED],
    ['the parent domain', `https://example.com${PATH}`, HOSTED],
    ['a name that begins with it', `https://api.example.com.evil.example${PATH}`, HOSTED],
    ['its name as user info', `https://api.example.com@evil.example${PATH}`, HOSTED],
    ['user info at the right host', `https://a:b@api.example.com${PATH}`, HOSTED],
    ['a user name at the right host', `https://a@api.example.com${PATH}`, HOSTED],
    ['a password at the right host', `https://:b@api.example.com${PATH}`, HOSTED],
    ['another port', `https://api.example.com:8443${PATH}`, HOSTED],
    ['http at the host of an https server', `http://api.example.com${PATH}`, HOSTED],
    ['loopback, from a hosted server', `http://127.0.0.1:4680${PATH}`, HOSTED],
    ['a trailing dot', `https://api.example.com.${PATH}`, HOSTED],
    ['a fragment', `https://api.example.com${PATH}#x`, HOSTED],
    ['a file', 'file:///etc/passwd', HOSTED],
    ['data', 'data:application/json,{}', HOSTED],
    ['javascript', 'javascript:alert(1)', HOSTED],
    ['text that is not a URL', 'api.example.com', HOSTED],
    ['nothing', '', HOSTED],
    ['a third host, although one is allowed', `https://evil.example${PATH}`, WITH_HOST],
    [
      'a server on HTTP that is not loopback',
      `http://192.168.0.2${PATH}`,
      { baseUrl: 'http://192.168.0.2', walletUrl: null },
    ],
  ])('%s', (_what, url, hosts) => {
    const { code, message, hint } = fault(url, hosts)
    expect(code).toBe('bad_answer')
    expect(`${message} ${hint}`).not.toContain('5161a7')
  })

  test('on an unknown host, with a hint how to allow it', () => {
    expect(fault(`https://wallet.example.com${PATH}`, HOSTED).hint).toContain(
      'GDN_WALLET_URL=https://wallet.example.com',
    )
  })

  test('on a third host, with a hint where the allowed host is set', () => {
    expect(fault(`https://evil.example${PATH}`, WITH_HOST).hint).toBe(
      'Check the wallet origin: GDN_WALLET_URL is https://wallet.example.com/any.',
    )
  })

  test('rejects any signed URL without the server’s origin', () => {
    const parts = fc.constantFrom(
      'https://',
      'http://',
      'api.example.com',
      '@',
      ':',
      '/',
      '\\',
      '%2e',
      '.',
      '#',
      '?',
      '\t',
      '[::1]',
      'evil',
    )
    const text = fc.oneof(
      fc.array(parts, { maxLength: 8 }).map((all) => all.join('')),
      fc.string({ unit: 'binary' }),
      fc.webUrl(),
    )
    fc.assert(
      fc.property(text, (url) => {
        try {
          expect(checkSignedUrl(url, HOSTED).origin).toBe('https://api.example.com')
        } catch (error) {
          expect(error).toBeInstanceOf(GdnError)
        }
      }),
      { numRuns: runs(2000) },
    )
  })
})
