import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { parseDatabaseUrl } from '../../../src/server/store/postgres/database-url.ts'

const tlsOf = (host: string, parameters: string) =>
  parseDatabaseUrl(new Secret(`postgres://user@${host}/gdn?${parameters}`), 'user').tls

/** Whether a certificate of another name than the host's would be taken. */
const checksName = (tls: ReturnType<typeof tlsOf>) =>
  tls !== false && tls.rejectUnauthorized === true && tls.checkServerIdentity === undefined

// Any file will do: it is not looked into here.
const FILE = encodeURIComponent(fileURLToPath(import.meta.url))

describe('a database on another machine', () => {
  test('is spoken to encrypted, unless its URL says that it need not be', () => {
    for (const parameters of ['', 'sslmode=prefer', 'sslmode=allow', 'sslmode=require']) {
      expect(tlsOf('db.example', parameters)).not.toBe(false)
    }
    expect(tlsOf('db.example', 'sslmode=disable')).toBe(false)
  })

  test('is who its certificate says with verify-full', () => {
    expect(checksName(tlsOf('db.example', 'sslmode=verify-full'))).toBe(true)
    expect(checksName(tlsOf('db.example', `sslmode=verify-full&sslrootcert=${FILE}`))).toBe(true)
  })

  test.each(['require', 'verify-ca', 'verify-full'])(
    'is who its certificate says where public authorities are trusted, with sslmode=%s too: they certify anybody',
    (mode) => {
      expect(checksName(tlsOf('db.example', `sslmode=${mode}&sslrootcert=system`))).toBe(true)
    },
  )

  test('may have another name where its own authority vouches for it', () => {
    const tls = tlsOf('db.example', `sslmode=verify-ca&sslrootcert=${FILE}`)
    expect(tls).toMatchObject({ rejectUnauthorized: true })
    expect(checksName(tls)).toBe(false)
  })
})
