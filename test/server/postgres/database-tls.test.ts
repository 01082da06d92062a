import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { parseDatabaseUrl } from '../../../src/server/store/postgres/database-url.ts'

const tlsOf = (host: string, parameters: string) =>
  parseDatabaseUrl(new Secret(`postgres://user@${host}/gdn?${parameters}`), () => 'user').tls

/** Whether a certificate with a name other than the host's is rejected. */
const checksName = (tls: ReturnType<typeof tlsOf>) =>
  tls !== false && tls.rejectUnauthorized === true && tls.checkServerIdentity === undefined

// Any file works, as it isn't parsed here.
const FILE = encodeURIComponent(fileURLToPath(import.meta.url))

describe('a database on another machine', () => {
  test('is connected to with TLS, unless its URL has sslmode=disable', () => {
    for (const parameters of ['', 'sslmode=prefer', 'sslmode=allow', 'sslmode=require']) {
      expect(tlsOf('db.example', parameters)).not.toBe(false)
    }
    expect(tlsOf('db.example', 'sslmode=disable')).toBe(false)
  })

  test('has its host name checked with verify-full', () => {
    expect(checksName(tlsOf('db.example', 'sslmode=verify-full'))).toBe(true)
    expect(checksName(tlsOf('db.example', `sslmode=verify-full&sslrootcert=${FILE}`))).toBe(true)
  })

  test.each(['require', 'verify-ca', 'verify-full'])(
    'checks the server’s host name with public authorities, even with sslmode=%s',
    (mode) => {
      expect(checksName(tlsOf('db.example', `sslmode=${mode}&sslrootcert=system`))).toBe(true)
    },
  )

  test('may have another name with verify-ca and a private authority', () => {
    const tls = tlsOf('db.example', `sslmode=verify-ca&sslrootcert=${FILE}`)
    expect(tls).toMatchObject({ rejectUnauthorized: true })
    expect(checksName(tls)).toBe(false)
  })
})
