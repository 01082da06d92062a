import type * as z from 'zod'
import { UNSAFE_KEYS } from '../../core/json.ts'
import { CUSTOM_NAME_PATTERN, KNOWN_EVM_NAMES, KNOWN_NAMES, SOLANA_BLOCKCHAINS } from '../blockchains.ts'
import { addressSchema, apiVersionSchema, blockchainSchema, transferBlockchainSchema } from '../fields.ts'
import { FILE_URL_FORMS } from '../file-url.ts'
import {
  attributeObjectSchema,
  attributeValueSchema,
  fileFieldSchema,
  fileUrlSchema,
  MAX_KEY_LENGTH,
  metadataObjectSchema,
  RESERVED_EXTRA_KEYS,
  RESERVED_FILE_KEYS,
} from '../metadata.ts'
import { EVM_ADDRESS_PATTERN } from '../same-address.ts'
import { API_VERSIONS } from '../versions.ts'
import { conditionalSchema, type Json } from './json-schema.ts'

export const EVM_ADDRESS = EVM_ADDRESS_PATTERN.source.slice(1, -1)
const SOLANA_ADDRESS = '[1-9A-HJ-NP-Za-km-z]{32,44}'

/** Forms of addresses, as regular expressions without ^ and $. */
export const ADDRESS_FORMS = [EVM_ADDRESS, SOLANA_ADDRESS]

/** Returns the rule that a text must have one of these forms. */
export const textPattern = (forms: readonly string[]): Json => ({ pattern: `^(?:${forms.join('|')})$` })

/** Returns the rule that a text must be one of these blockchain names, or a name that an operator may configure. */
export const blockchainPattern = (names: readonly string[]): Json => ({
  anyOf: [{ enum: names }, { pattern: CUSTOM_NAME_PATTERN.source }],
})

/** Keys that file fields and extra keys must not have. */
export const REFUSED_KEYS = {
  file: [...RESERVED_FILE_KEYS, ...UNSAFE_KEYS],
  extra: [...RESERVED_EXTRA_KEYS, ...UNSAFE_KEYS],
}

const keysExcept = (refused: readonly string[]): Json => ({
  pattern: '^\\S(?:[\\s\\S]*\\S)?$',
  not: { enum: refused },
})

/** The forms of a trait's numbers and dates, as regular expressions without ^ and $. */
export const NUMBER_FORM = '-?(?:0|[1-9]\\d*)(?:\\.\\d+)?'
export const DATE_FORM = '-?(?:0|[1-9]\\d{0,10})|\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}Z)?'

/**
 * Rules for numbers in attributes. Only attributes with a `display_type` contain numbers, and a date has no maximum.
 */
const TRAIT_RULES: Json = conditionalSchema(
  { required: ['display_type'] },
  conditionalSchema(
    { properties: { display_type: { const: 'date' } } },
    { properties: { value: textPattern([DATE_FORM]), max_value: { not: {} } } },
    { properties: { value: textPattern([NUMBER_FORM]), max_value: textPattern([NUMBER_FORM]) } },
  ),
  { properties: { value: { type: 'string' }, max_value: { not: {} } } },
)

/** Returns rules for a schema that the API contract checks with a function, as far as JSON Schema can express them. */
export function fieldRules(schema: z.core.$ZodType): Json | undefined {
  if (schema === addressSchema) return textPattern(ADDRESS_FORMS)
  if (schema === blockchainSchema) return blockchainPattern(KNOWN_NAMES)
  if (schema === transferBlockchainSchema) return blockchainPattern(KNOWN_EVM_NAMES)
  // YAML parses a version without quotes as a number.
  if (schema === apiVersionSchema)
    return { type: ['string', 'number'], enum: [...API_VERSIONS, ...API_VERSIONS.map(Number)] }
  if (schema === fileUrlSchema) return textPattern(FILE_URL_FORMS)
  if (schema === fileFieldSchema) return { allOf: [{ properties: { key: keysExcept(REFUSED_KEYS.file) } }] }
  if (schema === attributeValueSchema) return { type: ['string', 'number'] }
  if (schema === attributeObjectSchema) return TRAIT_RULES
  if (schema !== metadataObjectSchema) return undefined
  return { propertyNames: { maxLength: MAX_KEY_LENGTH, ...keysExcept(REFUSED_KEYS.extra) } }
}

/**
 * Returns the rules that addresses must belong to the object's blockchain, if it specifies one.
 *
 * @param fields names of the address fields
 * @param rule returns the rule for an address with a given form
 */
export function addressesOfBlockchain(
  fields: readonly string[],
  rule: (form: string) => Json = (form) => textPattern([form]),
): Json[] {
  const on = (name: Json, form: string) =>
    conditionalSchema(
      { properties: { blockchain: { type: 'string', ...name } }, required: ['blockchain'] },
      { properties: Object.fromEntries(fields.map((field) => [field, rule(form)])) },
    )
  return [on({ enum: SOLANA_BLOCKCHAINS }, SOLANA_ADDRESS), on({ pattern: CUSTOM_NAME_PATTERN.source }, EVM_ADDRESS)]
}
