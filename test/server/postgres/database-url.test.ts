import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { parseDatabaseUrl } from '../../../src/server/store/postgres/database-url.ts'
import { freshDataDir } from '../../helpers/backend.ts'

const parse = (url: string, user = () => 'me') => parseDatabaseUrl(new Secret(url), user)
const PASSWORD = 'p%40ss word'.replace(' ', '%20')

describe('a database URL', () => {
  it('contains host, port, database and user', () => {
    expect(parse(`postgres://gdn:${PASSWORD}@db.example.com:6543/shop`)).toMatchObject({
      ...{ host: 'db.example.com', port: 6543, database: 'shop', user: 'gdn' },
      displayUrl: 'postgres://gdn@db.example.com:6543/shop',
    })
    expect(parse(`postgres://gdn:${PASSWORD}@h/shop`).password?.reveal()).toBe('p@ss word')
  })

  it.each([
    ['postgres://db', { host: 'db', port: 5432, database: 'me', user: 'me' }],
    ['postgresql://u@db/', { host: 'db', database: 'u', user: 'u' }],
    ['postgres:///shop?host=/run/postgresql', { host: '/run/postgresql', database: 'shop', user: 'me' }],
    ['postgres://u@/shop?host=%2Frun%2Fpg&port=5433', { host: '/run/pg', port: 5433, database: 'shop', user: 'u' }],
    ['postgres:///', { host: 'localhost', database: 'me' }],
    ['postgres://[::1]:5/x', { host: '::1', port: 5 }],
  ])('%s is read as psql reads it', (url, expected) => {
    expect(parse(url)).toMatchObject(expected)
  })

  it('needs a user if the user of the process has no name, as in a container', () => {
    const nameless = () => {
      throw new Error('ENOENT')
    }
    expect(parse('postgres://gdn@db/shop', nameless).user).toBe('gdn')
    expect(parse('postgres://db/shop?user=gdn', nameless).user).toBe('gdn')
    expect(() => parse('postgres://db/shop', nameless)).toThrow(
      expect.objectContaining({
        code: 'invalid_config',
        message: 'the database URL has no user, and the user of this process has no name',
        hint: 'Use the form postgres://<host>:5432/<database>?user=<user>.',
      }),
    )
  })

  it.each([
    ['mysql://db/x', /is not a PostgreSQL URL/],
    ['db.example.com', /is not a PostgreSQL URL/],
    [`postgres://u:${PASSWORD}@db/x?sslmod=require`, /parameter sslmod/],
    [`postgres://u:${PASSWORD}@db/x?sslmode=maybe`, /sslmode "maybe"/],
    [`postgres://u:${PASSWORD}@db/x?port=0`, /an invalid port/],
    [`postgres://u:${PASSWORD}@db/x?sslrootcert=/nowhere`, /\/nowhere, which does not exist/],
    ['postgres://u:100%@db/x', /not percent-encoded correctly/],
  ])('%s is rejected without the password in the message', (url, message) => {
    let errorText = ''
    try {
      parse(url)
    } catch (error) {
      errorText = String(error)
    }
    expect(errorText).toMatch(message)
    expect(errorText).not.toMatch(/p%40ss|p@ss|100%/)
  })
})

describe('the TLS options of a database URL', () => {
  it.each([
    ['postgres://db/x', { rejectUnauthorized: false }],
    ['postgres://db/x?sslmode=require', { rejectUnauthorized: false }],
    ['postgres://db/x?sslmode=verify-ca', { rejectUnauthorized: true, checkServerIdentity: expect.any(Function) }],
    ['postgres://db/x?sslmode=verify-full', { rejectUnauthorized: true }],
    ['postgres://db/x?sslmode=disable', false],
    ['postgres://localhost/x', false],
    ['postgres://127.0.0.1/x?sslmode=prefer', false],
    ['postgres://127.0.0.1/x?sslmode=require', { rejectUnauthorized: false }],
    ['postgres:///x?host=/run/pg', false],
  ])('%s', (url, expected) => {
    expect(parse(url).tls).toEqual(expected)
  })

  it('a server is checked against a given root certificate, also with require', async () => {
    const dir = await freshDataDir()
    await writeFile(join(dir.path, 'ca.pem'), 'CA')
    expect(parse(`postgres://db/x?sslmode=require&sslrootcert=${dir.path}/ca.pem`).tls).toMatchObject({
      ca: 'CA',
      rejectUnauthorized: true,
    })
    await dir.remove()
  })
})
