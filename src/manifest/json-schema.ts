import { CUSTOM_NAME_PATTERN, KNOWN_NAMES } from '../api/blockchains.ts'
import { createnft } from '../api/endpoints/createnft.ts'
import { ENS_FORM } from '../api/ens-name.ts'
import { FILE_URL_FORMS } from '../api/file-url.ts'
import { MAX_KEY_LENGTH, nftMetadataSchema } from '../api/metadata.ts'
import { METADATA_KEYS } from '../api/metadata-keys.ts'
import {
  ADDRESS_FORMS,
  addressesOfBlockchain,
  DATE_FORM,
  EVM_ADDRESS,
  fieldRules,
  NUMBER_FORM,
  REFUSED_KEYS,
  textPattern,
} from '../api/openapi/fields-schema.ts'
import { conditionalSchema, type Json, jsonSchema } from '../api/openapi/json-schema.ts'
import { TRAIT_TYPES, type TraitType } from '../api/traits.ts'
import { COLUMN_NAMES, INVISIBLE, MAX_ID, namesOf, ROW_KEYS, SHORTENED_ID } from './columns.ts'

type ColumnName = (typeof COLUMN_NAMES)[number]

/** Key for all columns with typed traits in `COLUMN_NOTES`. */
const TYPED_ATTRIBUTE = 'attr(type):'

/** The meaning of each column. */
export const COLUMN_NOTES: Readonly<Record<ColumnName | typeof TYPED_ATTRIBUTE, string>> = {
  title: 'Title of the NFT (required)',
  description: 'Description of the NFT (required)',
  receiver:
    'Owner of the NFT: an address, `@name` or ENS name. `--receiver` sets the receiver of all rows that have none',
  sender:
    'First owner of the NFT (an address, `@name` or ENS name), before the server transfers it to the receiver. `--sender` sets the sender of all rows that have none. Without a sender, the server mints the NFT to the receiver',
  id: 'Identifier of the row. Without an `id`, gdn identifies the row by its content',
  contract_address: 'Contract address of the collection, instead of `--contract`. It must be the same in every row',
  blockchain: 'Blockchain, instead of `--blockchain`. It must be the same in every row',
  image: 'Image: an `http:`, `https:`, `ipfs:` or `ar:` URL, or a path relative to the manifest',
  'file:': 'URL or path of another file, which the metadata lists under `<key>`',
  'attr:': 'Value of the attribute `<tag>`, which marketplaces show',
  [TYPED_ATTRIBUTE]:
    'A typed trait. The type is `number`, `boost_number`, `boost_percentage` or `date`. `attr(number,max=100):<tag>` also sets the maximum of a number',
  'extra:': 'An extra metadata key',
}

/** Pattern for a name in the address book, such as `@alice`. */
export const CONTACT_FORM = '@[\\s\\S]+'
const PATH = '(?![a-zA-Z][a-zA-Z0-9+.-]+:)\\S(?:[\\s\\S]*\\S)?'

/**
 * Returns the schema of a cell. White space around the value is ignored, and an empty cell or null counts as absent.
 */
const cellSchema = (...forms: readonly string[]): Json => ({
  type: ['string', 'null'],
  ...(forms.length === 0 ? {} : { pattern: `^\\s*(?:${forms.join('|')})?\\s*$` }),
})

const REQUIRED_TEXT_SCHEMA: Json = { type: 'string', pattern: '\\S' }
const FILE_SCHEMA = cellSchema(...FILE_URL_FORMS, PATH)
const PARTY_SCHEMA = cellSchema(...ADDRESS_FORMS, CONTACT_FORM, ENS_FORM)

const CELL_SCHEMAS: Readonly<Record<ColumnName, Json>> = {
  title: REQUIRED_TEXT_SCHEMA,
  description: REQUIRED_TEXT_SCHEMA,
  receiver: PARTY_SCHEMA,
  sender: PARTY_SCHEMA,
  id: cellSchema(`(?!${SHORTENED_ID.source.slice(1, -1)}\\s*$)\\S(?:[\\s\\S]{0,${MAX_ID - 2}}\\S)?`),
  contract_address: cellSchema(...ADDRESS_FORMS),
  blockchain: { anyOf: [{ enum: KNOWN_NAMES }, cellSchema(...KNOWN_NAMES, CUSTOM_NAME_PATTERN.source.slice(1, -1))] },
  image: FILE_SCHEMA,
  'file:': FILE_SCHEMA,
  'attr:': cellSchema(),
  'extra:': cellSchema(),
}

const eitherCase = (letter: string) => `[${letter}${letter.toUpperCase()}]`

/** Returns a pattern for all names of a column, in any case, and with spaces or hyphens instead of underscores. */
const spellings = (name: ColumnName): string => {
  const patternOf = (text: string) => text.replaceAll(/[a-z]/g, eitherCase).replaceAll('_', '(?:_|[ -]+)')
  return ` *(?:${namesOf(name).map(patternOf).join('|')}) *`
}

/** Matches the key of a column, without the spaces around it. */
const TRIMMED_KEY = `\\S(?:[\\s\\S]{0,${MAX_KEY_LENGTH - 2}}\\S)?`

const isPrefix = (name: ColumnName) => name.endsWith(':')

/** Returns a pattern for the names of a column that ends with a custom key. */
function prefixedPattern(name: ColumnName): string {
  const refused = { 'file:': REFUSED_KEYS.file, 'extra:': [...REFUSED_KEYS.extra, ...METADATA_KEYS] }[String(name)]
  const other = refused === undefined ? '' : `(?!(?:${refused.join('|')})\\s*$)`
  return `^(?![\\s\\S]*(?:${INVISIBLE.source}))${name.replaceAll(/[a-z]/g, eitherCase)}\\s*${other}${TRIMMED_KEY}\\s*$`
}

/** Returns a pattern for the names of columns with typed traits of the given types. */
function typedNames(types: readonly TraitType[], settings: string): string {
  const anyCase = (text: string) => text.replaceAll(/[a-z]/g, eitherCase)
  const inside = ` *(?:${types.map(anyCase).join('|')}) *${settings}`
  return `^(?![\\s\\S]*(?:${INVISIBLE.source}))${anyCase('attr')} *\\(${inside}\\) *:\\s*${TRIMMED_KEY}\\s*$`
}

const typedCellSchema = (form: string): Json => ({
  ...cellSchema(form),
  type: ['string', 'number', 'null'],
  description: COLUMN_NOTES[TYPED_ATTRIBUTE],
})

const NUMBER_TYPES = TRAIT_TYPES.filter((type) => type !== 'date')

/** The schemas of cells with typed traits, by the patterns of their column names. */
const TYPED_CELL_SCHEMAS: Readonly<Record<string, Json>> = {
  [typedNames(NUMBER_TYPES, `(?:, *${'max'.replaceAll(/[a-z]/g, eitherCase)} *= *${NUMBER_FORM} *)?`)]:
    typedCellSchema(NUMBER_FORM),
  [typedNames(['date'], '')]: typedCellSchema(DATE_FORM),
}

const describedCell = (name: ColumnName): Json => ({ ...CELL_SCHEMAS[name], description: COLUMN_NOTES[name] })

const PLAIN_COLUMN_NAMES = COLUMN_NAMES.filter((name) => !isPrefix(name))

/** The property for the URL of the schema in a file. gdn ignores it. */
export const SCHEMA_FIELD_SCHEMA: Json = { type: 'string', description: 'The schema of this file, for editors' }

/** Returns the schema of a row with columns. */
function columnsSchema(ownProperties: Json): Json {
  const patterns = [
    ...PLAIN_COLUMN_NAMES.map((name) => [`^(?!${name}$)${spellings(name)}$`, describedCell(name)] as const),
    ...COLUMN_NAMES.filter(isPrefix).map((name) => [prefixedPattern(name), describedCell(name)] as const),
  ]
  return {
    type: 'object',
    properties: {
      ...ownProperties,
      ...Object.fromEntries(PLAIN_COLUMN_NAMES.map((name) => [name, describedCell(name)])),
    },
    patternProperties: { ...Object.fromEntries(patterns), ...TYPED_CELL_SCHEMAS },
    additionalProperties: false,
    allOf: [
      ...(['title', 'description'] as const).map((name) =>
        conditionalSchema({ propertyNames: { not: { pattern: `^${spellings(name)}$` } } }, { required: [name] }),
      ),
      ...addressesOfBlockchain(['receiver', 'sender'], (form) =>
        cellSchema(form, CONTACT_FORM, ...(form === EVM_ADDRESS ? [ENS_FORM] : [])),
      ),
      ...addressesOfBlockchain(['contract_address'], (form) => cellSchema(form)),
    ],
  }
}

/** Returns the schema of metadata objects, which have the form of the API and may contain local files. */
function metadataSchema(ownProperties: Json): Json {
  const { properties, propertyNames, ...rest } = jsonSchema(nftMetadataSchema, 'input', {}, fieldRules) as {
    properties: { file_fields: { items: { properties: { url: Json } } } } & Json
    propertyNames: { not: { enum: string[] } } & Json
  }
  properties.file_fields.items.properties.url = {
    type: 'string',
    description: 'URL of the file, or a path relative to the manifest',
    ...textPattern([...FILE_URL_FORMS, PATH]),
  }
  const names = { ...propertyNames, not: { enum: [...propertyNames.not.enum, ...ROW_KEYS] } }
  return { ...rest, propertyNames: names, properties: { ...ownProperties, ...properties } }
}

/** Returns the schema of a row: an object with columns, or a metadata object if it has `file_fields`. */
export const rowSchema = (ownProperties: Json = {}): Json =>
  conditionalSchema(
    { type: 'object', required: ['file_fields'] },
    metadataSchema(ownProperties),
    columnsSchema(ownProperties),
  )

/** Returns the schema of a createnft or createnfttrans request as a manifest. */
function requestManifestSchema(): Json {
  const {
    properties,
    required: _filled,
    ...rest
  } = jsonSchema(createnft.request, 'input', {}, fieldRules) as {
    properties: Record<string, Json>
  } & Json
  const party = (description: unknown) => ({
    type: 'string',
    ...textPattern([...ADDRESS_FORMS, CONTACT_FORM, ENS_FORM]),
    description,
  })
  const metadata = { $ref: '#/$defs/metadata' }
  return {
    ...rest,
    properties: {
      $schema: SCHEMA_FIELD_SCHEMA,
      ...properties,
      receiver_wallet_address: party(COLUMN_NOTES.receiver),
      sender_wallet_address: party(COLUMN_NOTES.sender),
      metadata: {
        anyOf: [{ type: 'array', minItems: 1, items: metadata }, metadata],
        description: 'The NFTs to create',
      },
    },
    required: ['metadata'],
    allOf: addressesOfBlockchain(['contract_address']),
  }
}

/** Returns the schema of a JSON manifest: a list of rows, a request, or one row. */
export const manifestSchema = (): Json => ({
  ...conditionalSchema(
    { type: 'array' },
    { minItems: 1, items: { $ref: '#/$defs/row' } },
    conditionalSchema(
      { type: 'object', required: ['metadata'] },
      requestManifestSchema(),
      rowSchema({ $schema: SCHEMA_FIELD_SCHEMA }),
    ),
  ),
  $defs: { row: rowSchema(), metadata: metadataSchema({}) },
})
