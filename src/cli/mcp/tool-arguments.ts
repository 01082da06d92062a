import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import type { Tool, Values } from './tools.ts'

export const validator = new AjvJsonSchemaValidator()

const TYPE_DESCRIPTIONS: Readonly<Record<string, string>> = {
  array: 'a list of strings',
  string: 'one string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
}

/**
 * Validates the arguments of a tool. If the schema requires a list, converts a single string to a list with one item.
 *
 * @throws GdnError `usage` if the arguments don't match the schema
 */
export function checkArguments({ inputSchema }: Pick<Tool, 'inputSchema'>, callValues: Values): Values {
  const { properties } = inputSchema
  const names = Object.keys(properties)
  const unknown = Object.keys(callValues).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const near = nearest(unknown, names)
    throw new GdnError('usage', 'unknown argument', {
      place: { field: unknown },
      hint: near === undefined ? `Use ${names.join(', ')}.` : `Did you mean ${near}?`,
    })
  }
  const isList = (name: string) => (properties[name] as { type?: string }).type === 'array'
  const values = Object.fromEntries(
    Object.entries(callValues).map(([name, value]) => [
      name,
      typeof value === 'string' && isList(name) ? [value] : value,
    ]),
  )
  const { valid, errorMessage = '' } = validator.getValidator(inputSchema)(values)
  if (valid) return values
  const message = errorMessage.replace(/^data\/?/, '').trim()
  const [, name = '', , type = ''] = /^(\w+)(\/\d+)? must be (\w+)/.exec(message) ?? []
  const form = TYPE_DESCRIPTIONS[isKnown(names, name) && isList(name) ? 'array' : type]
  throw new GdnError('usage', message, {
    hint: form === undefined || !isKnown(names, name) ? undefined : `Pass ${name} as ${form}.`,
  })
}

const isKnown = (names: readonly string[], name: string): boolean => names.includes(name)
