/** @module-tag slow */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nftMetadataSchema } from '../../src/api/metadata.ts'
import { parseYaml } from '../../src/api/parse-yaml.ts'
import { validate } from '../../src/api/validate.ts'
import { parseArt } from '../../src/art/art-file.ts'
import { loadSchema, SCHEMA_NAMES, type SchemaName } from '../../src/cli/schema/schemas.ts'
import { parseProjectConfig, parseUserConfig } from '../../src/config/schema.ts'
import { GdnError } from '../../src/core/errors.ts'
import { parseStrictJson } from '../../src/core/strict-json.ts'
import { settingsFileSchema } from '../../src/server/settings/schema.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, read } from '../manifest/helpers.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
/** The problems that gdn reports; none if it accepts the value. */
type Read = (value: Json) => Promise<string[]> | string[]

interface Subject {
  read: Read
  valid: readonly Json[]
  /** Problems that JSON Schema can't express, or that depend on more than the file. */
  looser: readonly (readonly [message: RegExp, why: string])[]
}

const SOLANA = '11111111111111111111111111111112'
const CID = 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG'
const ID = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'

const CHECKSUM = [
  /wrong checksum|zero address|it has \d+ bytes|is not a Solana address/,
  'needs hashing or decoding',
] as const
const METADATA_LOOSER = [
  [/metadata items, but at most/, 'adds up fields of two objects'],
  [/ is repeated| is also an extra key/, 'compares keys across objects'],
  [/unpaired surrogate|NUL character/, 'a schema with these patterns would be unreadable'],
  [/must have at most \d+ characters|is longer than/, 'JSON Schema counts code points, gdn UTF-16 units'],
  [
    /its maximum, not|exactly|is too close to 0|must be greater than 0|a date that exists|milliseconds/,
    'compares numbers',
  ],
  [/is not a URL|has a user name|has \. or \.\. in its path/, 'needs a URL parser'],
] as const

const manifest: Read = async (value) => {
  const { issues } = await read(Buffer.from(JSON.stringify(value)), {
    format: 'json',
    size: 4096,
    receiver: ALICE,
    contractAddress: BOB,
    addressOf: () => ALICE,
    ensNames: { pin() {}, async open() {}, of: (name) => ({ name, address: ALICE }), async close() {} },
  })
  return issues.map(({ message }) => message)
}

const parsed =
  (parse: (value: Json) => unknown): Read =>
  (value) => {
    try {
      parse(value)
      return []
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      const issues = (error.details as { issues?: { message: string }[] } | undefined)?.issues
      return issues?.map(({ message }) => message) ?? [error.message]
    }
  }

const strict = (value: Json) => parseStrictJson(JSON.stringify(value), 'config.json', 'invalid_config')

const isObject = (value: Json): value is { [key: string]: Json } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** Reads a request as its command does, whose flags add what the file lacks. */
const request =
  (name: keyof typeof ENDPOINTS, fillable: readonly string[] = []): Read =>
  (value) => {
    if (!isObject(value)) return ['must be an object']
    const { $schema, ...rest } = value
    const given = typeof $schema === 'string' ? rest : value
    const example = ENDPOINTS[name].example.request as { [key: string]: Json }
    const spelled = 'tokenid' in given ? fillable.filter((field) => field !== 'token_id') : fillable
    const filled = Object.fromEntries(
      spelled.filter((field) => field in example).map((field) => [field, example[field]]),
    )
    const result = validate(ENDPOINTS[name].request, { ...filled, ...given })
    return result.ok ? [] : result.issues.map(({ message }) => message)
  }

const row = { title: 'Dawn', description: 'One', receiver: ALICE, blockchain: 'polygon' }
const TRAIT = { tag: 'Power', value: '5', display_type: 'number', max_value: 9 }
const metadata = { title: 'Dawn', description: 'One', file_fields: [{ key: 'image', url: CID }], artist: 'E' }
const example = (name: keyof typeof ENDPOINTS) => ENDPOINTS[name].example.request as Json

const ROWS_LOOSER = [
  CHECKSUM,
  ...METADATA_LOOSER,
  [/ define the same attribute|, but line \d+ has "/, 'compares keys or rows'],
  [/both mean| define the same metadata key|but an NFT has at most|is already used on line/, 'compares keys or rows'],
  [/unknown blockchain|is not a known blockchain/, 'a name may be close to a known one'],
  [/but the run is for|but the flag is|blockchain is required/, 'flags and other rows may set it'],
  [/doesn't exist|is outside|is hidden|is a directory|can't be read/, 'reads the file'],
  [/transfers are unsupported|sender can't be used/, 'depends on the blockchain of the run'],
  [/must have one entry for each/, 'counts entries of two lists'],
  [
    /is an EVM address|must begin with 0x|is not an EVM address|is a number, not an address|hex digits/,
    'depends on the blockchain of the run',
  ],
] as const

const SUBJECTS: Partial<Record<SchemaName, Subject>> = {
  manifest: {
    read: manifest,
    valid: [
      [row, { ...row, id: 'two', image: CID, 'attr:Level': '5', 'extra:series': 'a', sender: BOB }],
      { ...row, $schema: './manifest.schema.json' },
      [{ Name: 'Dawn', DESC: 'One', 'wallet address': ALICE, chain: 'polygon' }],
      [{ ...row, 'attr(number,max=9):Power': '5', 'ATTR ( Date ):Born': '2026-11-01' }],
      [{ ...row, 'attr(boost_number):Power': -2.5, 'attr(date):Born': 1793491200 }],
      [{ ...metadata, attribute: [TRAIT, { tag: 'Born', value: 0, display_type: 'date' }] }],
      {
        $schema: 'x',
        contract_address: BOB,
        blockchain: 'polygon',
        receiver_wallet_address: ALICE,
        metadata: [metadata],
      },
      { blockchain: 'polygon', metadata },
    ],
    looser: ROWS_LOOSER,
  },
  'manifest-row': {
    read: (value) => manifest([value]),
    valid: [row, { ...row, image: CID, id: '7' }, { ...row, receiver: '@alice' }],
    looser: ROWS_LOOSER,
  },
  metadata: {
    read: (value) => {
      if (!isObject(value)) return ['must be an object']
      const { $schema, ...rest } = value
      const given = typeof $schema === 'string' ? rest : value
      const result = validate(nftMetadataSchema, given)
      return result.ok ? [] : result.issues.map(({ message }) => message)
    },
    valid: [metadata, { ...metadata, attribute: [{ tag: 'a', value: 'b' }], $schema: 'x' }],
    looser: METADATA_LOOSER,
  },
  art: {
    read: parsed((value) => parseArt(JSON.stringify(value), 'art.yaml', '/')),
    valid: [
      {
        title: 'Tide #{number}',
        description: 'One',
        layers: [{ name: 'Sky', traits: { Blue: { file: 'Blue.png' } } }],
      },
      {
        title: 'Tide #{number}',
        description: 'One',
        collection: 'Tides',
        output: { width: 100, height: 100, format: 'webp', background: '#00ff00' },
        layers: [
          {
            name: 'Sky',
            folder: 'sky',
            traits: { Blue: { file: 'b.png', weight: 2 }, Red: { file: 'r.png', count: 3 } },
          },
          {
            name: 'Hat',
            optional: '20%',
            blend: 'multiply',
            opacity: 0.5,
            traits: { Cap: { file: 'c.png', hidden: true } },
          },
          { name: 'Power', optional: 3, type: 'number', max: 9, traits: { '5': { file: '5.png', value: 5 } } },
        ],
        groups: { hats: ['Hat/Cap'], warm: 'Sky/Red' },
        rules: [
          { if: 'hats', excludes: ['warm'] },
          { if: 'Hat', requires: 'Power' },
        ],
        one_of_ones: [{ at: 2, image: 'king.png', title: 'King', attributes: { Power: 9 } }],
      },
    ],
    looser: [
      [/both|neither|must have one of requires|needs a type/, 'compares fields'],
      [/two layers|also the name|as well|is not a layer, trait or group|no NFT can have/, 'compares names'],
      [/is empty: a layer|must have at most \d+ traits|must have at least one trait with/, 'counts entries'],
      [
        /the value of|must be a (number|date)|its maximum|greater than 0|digits|close to 0|used with a date|Unix time/,
        'depends on the type of the layer',
      ],
      [
        /must be one line of text|is longer|must have at most \d+ characters/,
        'JSON Schema counts code points, gdn UTF-16 units',
      ],
    ],
  },
  config: {
    read: parsed((value) => parseProjectConfig(strict(value), '.gdnrc.json')),
    valid: [
      { $schema: './config.schema.json', base_url: 'https://a.example', rate: 2, api_version: '1.2', profile: 'x' },
    ],
    looser: [
      [/must be an http\(s\) URL|must not have/, 'needs a URL parser'],
      [/is not a known blockchain/, 'a name may be close to a known one'],
    ],
  },
  'user-config': {
    read: parsed((value) => parseUserConfig(strict(value), 'config.json')),
    valid: [
      {
        $schema: 'x',
        profile: 'a',
        profiles: {
          a: {
            base_url: 'https://a.example',
            storage: 's3://art/one',
            storage_region: 'eu',
            email: 'a@b.example',
            price_currency: 'USD',
          },
          b: { blockchain: 'polygon', wallet: '@alice', rate: 5, ipfs_api: 'http://127.0.0.1:5001' },
        },
      },
    ],
    looser: [
      [/must be an http\(s\) URL|must not have/, 'needs a URL parser'],
      [/is not a known blockchain/, 'a name may be close to a known one'],
      [/is not allowed as a key/, 'has a name that JavaScript uses'],
      [/must be an e-mail address/, 'checked by its format, which validators may ignore'],
    ],
  },
  backend: {
    read: parsed((value) => parseYaml(settingsFileSchema, JSON.stringify(value), 'backend.yaml')),
    valid: [
      {
        $schema: 'backend.schema.json',
        chains: {
          polygon: {
            rpc_urls: ['https://a.example/v2/KEY'],
            confirmations: 3,
            requests_per_second: { 'a.example': 5 },
            operators: [
              { keystore: 'one.json', password_file: 'one' },
              { remote_signer: 'https://s.example', address: ALICE, token_credential: 'token' },
            ],
            admin: { remote_signer: 'http://127.0.0.1:9000', address: BOB },
          },
          solana: { rpc_urls: ['https://b.example'], signer: { keypair_file: 'id.json' }, commitment: 'confirmed' },
        },
        storage: { kind: 's3', bucket: 'art', credentials_file: 'aws' },
        pinning: { endpoint: 'https://p.example', token_file: 'token' },
        database_url_file: 'url',
        api_version: '1.2',
      },
      { storage: { kind: 'ipfs', auth_file: 'token' }, require_stored_files: true },
    ],
    looser: [
      CHECKSUM,
      [/not a valid name|too similar to|is not a known network/, 'a name may be close to a known one'],
      [
        /is not a URL|must be an https? or https URL|must be an https? URL|must be https|must not have|user name|is not a valid url/i,
        'needs a URL parser',
      ],
      [
        /is not a host of rpc_urls|must be at least as many blocks|requires an https URL|needs client_/,
        'compares fields',
      ],
      [/base58 hash/, 'needs decoding'],
      [/must be an http or https URL/, 'checked by its format, which validators may ignore'],
    ],
  },
}

/** The endpoints with requests in files, and the fields that a command's flags add. */
const REQUESTS = {
  createcollection: ['wallet_address', 'name', 'blockchain'],
  createnft: ['contract_address', 'blockchain', 'receiver_wallet_address'],
  createnfttrans: ['contract_address', 'blockchain', 'receiver_wallet_address', 'sender_wallet_address'],
  transfernft: [
    ...['contract_address', 'blockchain', 'receiver_wallet_address', 'sender_wallet_address', 'token_id', 'nft_gdn_id'],
  ],
  creatednft: [],
  updatednft: [],
  freezenft: [],
  burnnft: [],
  commitprovenance: [],
} satisfies Partial<Record<SchemaName, string[]>>

for (const [name, fillable] of Object.entries(REQUESTS) as [keyof typeof REQUESTS, string[]][]) {
  SUBJECTS[name] = {
    read: request(name, fillable),
    valid: [example(name), { ...(example(name) as object), $schema: './x.schema.json' }],
    looser: [
      CHECKSUM,
      ...METADATA_LOOSER,
      [
        /is an EVM address, but|must begin with 0x|is not an EVM address|hex digits|inconsistent/,
        'depends on the blockchain of the collection',
      ],
      [/is a name, not an address|is in quotes/, 'may be an ENS name, which the command resolves'],
      [/is not a known blockchain/, 'a name may be close to a known one'],
      [/must have one entry for each/, 'counts entries of two lists'],
      [/is required on Solana|unsupported on Solana|needs royalty_bps/, 'flags may set these fields'],
      [
        /must be an http\(s\), ipfs or ar URL|is not an (ipfs|ar) URL|is empty: use|whitespace or a backslash/,
        'an image',
      ],
    ],
  }
}

const ODD: readonly Json[] = [
  ...[null, true, 0, -1, 1.5, 1e9, '', ' ', 'x', ' x ', '\0', '\ud800', 'a'.repeat(201), [], {}, [null], [{}], ['x']],
  ...[ALICE, BOB.toLowerCase(), `${ALICE.slice(0, -1)}0`, ` ${ALICE}`, SOLANA, '@alice', '0X12', '1.2E+41'],
  ...[
    'polygon',
    'polygno',
    'solana',
    'mynet',
    'Polygon',
    'http://a.example',
    'HTTPS://A.example/x y',
    'ftp://a',
    'ipfs',
    CID,
  ],
  ...[
    'ar://x',
    'image.png',
    '1.1',
    1.2,
    '../x',
    ID,
    { key: 'name', url: CID },
    { key: 'k', url: 'k.png' },
    { tag: 'a', value: 'b' },
  ],
  ...[{ kind: 'files' }, { keystore: 'a' }, { keypair_credential: 'a' }, metadata, row],
]
const KEY_NAMES = [
  ...[
    '$schema',
    'x',
    'Title',
    ' nft-Name ',
    'TO',
    'wallet_address',
    'id',
    'blockchain',
    'contract_address',
    'image',
    'sender',
  ],
  ...[
    'attr:Level',
    'ATTR:',
    'file:back',
    'file:name',
    'extra:title',
    'extra:a',
    'File: b',
    '\u200bx',
    '__proto__',
    'constructor',
  ],
  ...[
    'file_fields',
    'metadata',
    'attribute',
    'reference_ids',
    'reference_id',
    'receiver_wallet_address',
    'tokenid',
    'token_id',
  ],
  ...[
    'royalty_bps',
    'cluster',
    'genesis_hash',
    'password_credential',
    'token_file',
    'client_cert_file',
    'api_key',
    'rate',
    'storage',
  ],
]

const change = fc.record({
  at: fc.array(fc.nat(20), { maxLength: 5 }),
  kind: fc.constantFrom('set', 'drop', 'add', 'rename'),
  name: fc.constantFrom(...KEY_NAMES),
  value: fc.constantFrom(...ODD),
})
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

/** Changes one place of a value. */
function changed(value: Json, { at: [first, ...rest], ...how }: Change): Json {
  const entries: [string, Json][] | null =
    value === null || typeof value !== 'object' ? null : (Object.entries(value) as [string, Json][])
  if (entries === null || first === undefined || entries.length === 0) {
    if (how.kind === 'add' && isObject(value)) return ownly([...Object.entries(value), [how.name, how.value]])
    return how.value
  }
  const index = first % entries.length
  const [key, inner] = entries[index] as [string, Json]
  const goesOn = rest.length > 0 && inner !== null && typeof inner === 'object'
  const replaced: [string, Json][] = goesOn
    ? [[key, changed(inner, { at: rest, ...how })]]
    : how.kind === 'drop'
      ? []
      : how.kind === 'rename'
        ? [[how.name, inner]]
        : how.kind === 'add' && isObject(value)
          ? [
              [key, inner],
              [how.name, how.value],
            ]
          : [[key, how.value]]
  const all = [...entries.slice(0, index), ...replaced, ...entries.slice(index + 1)]
  return Array.isArray(value) ? all.map(([, item]) => item) : ownly(all)
}

/** An object that may have its own `__proto__`, as JSON.parse makes it. */
const ownly = (entries: readonly (readonly [string, Json])[]): Json =>
  JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`)

const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allowMatchingProperties: true,
  validateFormats: false,
})
const said = (errors: readonly ErrorObject[] | null | undefined) => JSON.stringify(errors?.slice(0, 3))

describe.each(SCHEMA_NAMES)('the schema %s', (name) => {
  const subject = SUBJECTS[name]
  if (subject === undefined) throw new Error(`${name} has no subject here`)
  const { read: readIt, valid, looser } = subject

  it('accepts what gdn accepts, and rejects the rest as far as it can', async () => {
    const check = ajv.compile(await loadSchema(name))
    const compare = async (value: Json) => {
      const isValid = check(value)
      const problems = await readIt(value)
      if (problems.length === 0) expect([value, isValid, said(check.errors)]).toEqual([value, true, said(null)])
      else if (isValid) {
        // Each problem that the schema doesn't see must be one that it can't.
        const unseen = problems.filter((message) => !looser.some(([known]) => known.test(message)))
        expect([value, unseen]).toEqual([value, []])
      }
      return problems
    }
    for (const value of valid) expect([value, await compare(value)]).toEqual([value, []])
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...valid),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        async (value, changes) => {
          await compare(changes.reduce(changed, value))
        },
      ),
      { numRuns: runs(400) },
    )
  })

  it('describes every field', async () => {
    const missing: string[] = []
    const visit = (part: unknown, path: string): void => {
      if (part === null || typeof part !== 'object') return
      const { properties } = part as { properties?: Record<string, { description?: string }> }
      for (const [field, { description }] of Object.entries(properties ?? {})) {
        if (description === undefined && !/\/(if|then|allOf)\b/.test(path)) missing.push(`${path}/${field}`)
      }
      for (const [key, inner] of Object.entries(part)) visit(inner, `${path}/${key}`)
    }
    visit(await loadSchema(name), '')
    expect(missing).toEqual([])
  })
})
