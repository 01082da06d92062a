import { describe, expect, test } from 'vitest'
import { FetchFailure } from '../../src/files/failure.ts'
import { toFetchFailure } from '../../src/files/fetch-error.ts'
import { createCheckedLookup } from '../../src/files/lookup.ts'
import { checkTarget } from '../../src/files/target.ts'

describe('a redirect', () => {
  const hop = (from: string, to: string, allowPrivate = false) => {
    const { label, url } = checkTarget(from, allowPrivate)
    return checkTarget(to, allowPrivate, { label, url }).url.href
  }

  test('from https to http is rejected, even if private files are allowed', () => {
    for (const allowPrivate of [false, true]) {
      expect(() => hop('https://files.example/a', 'http://files.example/a', allowPrivate)).toThrow(
        'https://files.example/a redirects to http://files.example/a, which is not encrypted',
      )
    }
  })

  test.each([
    ['http://files.example/a', 'https://files.example/a', 'https://files.example/a'],
    ['https://files.example/a', '//other.example/b', 'https://other.example/b'],
    ['https://files.example/a/b', '../c?d', 'https://files.example/c?d'],
  ])('from %s to %s leads to %s', (from, to, url) => {
    expect(hop(from, to)).toBe(url)
  })
})

test.each(['http://files.example:443/', 'https://files.example:80/', 'https://files.example/', 'http://1.1.1.1/'])(
  '%s is allowed',
  (url) => {
    expect(checkTarget(url, false).url.href).toBe(url)
  },
)

test.each(['http://169.254.169.254/latest/meta-data', 'http://[fd00:ec2::254]/'])(
  '%s is rejected as a cloud metadata address, without a hint to allow private files',
  (url) => {
    for (const allowPrivate of [false, true]) {
      expect(() => checkTarget(url, allowPrivate)).toThrow(
        expect.objectContaining({
          isLasting: true,
          isPrivate: false,
          message: expect.stringContaining('resolves to a cloud metadata address ('),
          hint: 'Use a URL on the public internet.',
        }),
      )
    }
  },
)

test('a port other than 80 and 443 is rejected as private', () => {
  expect(() => checkTarget('http://1.1.1.1:81/', false)).toThrow(expect.objectContaining({ isPrivate: true }))
})

describe('a network error', () => {
  const coded = (code: string) => Object.assign(new Error('x'), { code })

  test.each([
    ['CERT_HAS_EXPIRED', 'has a certificate that is not trusted', true],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'has a certificate that is not trusted', true],
    ['EHOSTUNREACH', "can't be reached", false],
    ['UND_ERR_CONNECT_TIMEOUT', 'took too long to connect', false],
    ['EMADEUP', 'could not be fetched', false],
    ['constructor', 'could not be fetched', false],
  ])('with %s means: %s', (code, says, isLasting) => {
    const failure = toFetchFailure(coded(code), 'https://files.example/')
    expect(failure).toBeInstanceOf(FetchFailure)
    expect(failure).toMatchObject({ message: `https://files.example/ ${says}`, isLasting })
  })

  test('is found in a cause, and in the attempts on several addresses', () => {
    const wrapped = new TypeError('fetch failed', { cause: new AggregateError([coded('EHOSTUNREACH')]) })
    expect(toFetchFailure(wrapped, 'x').message).toBe("x can't be reached")
  })

  test('from the resolver may be any thrown value', async () => {
    const lookup = createCheckedLookup(() => Promise.reject('odd'), false)
    const error = await new Promise((settle) => lookup('files.example', {}, settle))
    expect(error).toMatchObject({ code: 'ENOTFOUND' })
  })
})
