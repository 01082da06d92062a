import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { redactText } from '../../../src/core/redact.ts'
import { readSettings } from '../../../src/server/settings/read-settings.ts'
import { signerName } from '../../../src/server/settings/signer-schema.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
let dir: string
beforeEach(async () => {
  dir = await temporaryDataDir()
})

/** The operator is in line 5, from column 9 on. */
async function operatorsOf(operator: string) {
  const path = join(dir, 'backend.yaml')
  const text = `chains:\n  polygon:\n    rpc_urls: [https://node.example]\n    operators:\n      - { ${operator} }\n`
  await writeFile(path, text, { mode: 0o600 })
  return () => readSettings(path).chains.get('polygon')?.operators ?? []
}

describe('an operator in backend.yaml', () => {
  it('is a remote signer with its address, and files beside the configuration', async () => {
    const readOperators = await operatorsOf(
      `remote_signer: https://signer.example/v1/key-0123456789abcdef, address: '${ADDRESS.toLowerCase()}', token_file: token, client_cert_file: c.pem, client_key_file: k.pem, ca_file: /etc/ca.pem`,
    )
    const [entry] = readOperators()
    expect(entry).toEqual({
      remote_signer: 'https://signer.example/v1/key-0123456789abcdef',
      address: ADDRESS,
      token_file: join(dir, 'token'),
      client_cert_file: join(dir, 'c.pem'),
      client_key_file: join(dir, 'k.pem'),
      ca_file: '/etc/ca.pem',
    })
    expect(entry && signerName(entry)).toBe(`${ADDRESS} at signer.example`)
    expect(redactText('POST /v1/key-0123456789abcdef')).toBe('POST /v1/[redacted]')
  })

  it.each(['http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000'])(
    'may be a remote signer without TLS at %s',
    async (url) => {
      const readOperators = await operatorsOf(`remote_signer: '${url}', address: '${ADDRESS}'`)
      expect(readOperators()).toMatchObject([{ remote_signer: url }])
    },
  )

  const remote = (more: string) => `remote_signer: https://signer.example, address: '${ADDRESS}', ${more}`
  it.each([
    ["remote_signer: 'http://signer.example'", 'remote_signer', /must be https, because http doesn't protect/],
    ["remote_signer: 'http://127.0.0.1.example'", 'remote_signer', /must be https, because http doesn't protect/],
    ['remote_signer: ftp://signer.example', 'remote_signer', /must be an https URL/],
    ['remote_signer: 5', 'remote_signer', /must be a string, not a number/],
    ['remote_signer: https://user:pass@signer.example', 'remote_signer', /must not have a user name or password/],
    ['remote_signer: https://signer.example', 'address', /is required/],
    ['remote_signer: https://signer.example, address: 0x12', 'address', /must be a string, not a number/],
    [
      "remote_signer: https://signer.example, address: '0x12'",
      'address',
      /must have 40 hex digits after 0x, but has 2/,
    ],
    [`remote_signer: https://signer.example, address: '${ADDRESS.replace('F', 'f')}'`, 'address', /wrong checksum/],
    [remote('token_file: a, token_credential: b'), '', /must have token_file or token_credential, not both/],
    [remote('client_cert_file: a'), 'client_cert_file', /needs client_key_file or client_key_credential/],
    [remote('client_key_file: a'), 'client_key_file', /needs client_cert_file/],
    [remote('client_key_credential: a'), 'client_key_credential', /needs client_cert_file/],
    [remote('password_file: a'), 'password_file', /is not a known field/],
    [remote('keystore: a'), 'keystore', /is not a known field/],
    [`remote_signer: 'http://[::1]:9000', address: '${ADDRESS}', ca_file: a`, 'ca_file', /requires an https URL/],
    ['keystore: a', '', /needs either password_file or password_credential/],
    ["address: '0x12'", 'keystore', /is required/],
  ])('is rejected with its location: %s', async (operator, field, message) => {
    const readOperators = await operatorsOf(operator)
    const at = field === '' ? 'chains.polygon.operators[0]' : `chains.polygon.operators[0].${field}`
    expect(readOperators).toThrow(
      expect.objectContaining({
        code: 'invalid_config',
        message: expect.stringMatching(message),
        place: expect.objectContaining({ file: join(dir, 'backend.yaml'), line: 5, field: at }),
      }),
    )
  })
})
