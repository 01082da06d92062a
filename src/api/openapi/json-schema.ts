import * as z from 'zod'
import { isObject } from '../../core/json.ts'
import { FIELD_NOTES } from './field-notes.ts'

/** Part of an OpenAPI document or of a JSON Schema. */
export type Json = Record<string, unknown>

/**
 * Returns whether the API contract preprocesses a list so that it also accepts a single item (`oneOrMore` and similar).
 */
const isPreprocessed = (schema: z.core.$ZodType): boolean => {
  const { def } = schema._zod as z.core.$ZodPipe['_zod']
  return (def.type as string) === 'pipe' && def.in._zod.def.type === 'transform'
}

/** Adds descriptions, by name, to the fields without a description. */
export function describeFields(schema: unknown, notes: Readonly<Record<string, string>>): void {
  if (!isObject(schema)) return
  for (const [name, field] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    const note = notes[name]
    if (note !== undefined && isObject(field)) field.description ??= note
  }
  for (const part of Object.values(schema)) describeFields(part, notes)
}

/**
 * Moves the type of additional fields to a pattern that excludes the named fields. A validator treats both in the same
 * way. However, type generators apply `additionalProperties` to the named fields too, so that no request would match
 * the generated type.
 */
function separateAdditionalFields(schema: Json): void {
  const { properties, additionalProperties: further } = schema
  if (!isObject(properties) || !isObject(further) || Object.keys(further).length === 0) return
  schema.patternProperties = { [`^(?!(${Object.keys(properties).join('|')})$)`]: further }
  schema.additionalProperties = true
}

/** Returns a schema that applies `yes` or `no`, depending on whether the condition matches. */
export const conditionalSchema = (condition: Json, yes: Json, no?: Json): Json =>
  Object.fromEntries([['if', condition], ['then', yes], ...(no === undefined ? [] : [['else', no]])])

/** Returns an addition to the JSON Schema that zod generates for a schema. Returns undefined for most schemas. */
export type Addition = (schema: z.core.$ZodType) => Json | undefined

/**
 * Returns the JSON Schema (2020-12, as in OpenAPI 3.1) for the input or output of a contract's schema.
 *
 * @param notes descriptions of fields, by name. They override the default descriptions.
 */
export function jsonSchema(
  schema: z.core.$ZodType,
  io: 'input' | 'output',
  notes: Readonly<Record<string, string>> = {},
  addition: Addition = () => undefined,
): Json {
  const described = plainJsonSchema(schema, io, addition)
  // Don't do this in zod's `override`, because fields of the same type still share one object there.
  describeFields(described, { ...FIELD_NOTES, ...notes })
  return described
}

/** Like `jsonSchema`, but includes only descriptions from the schema itself. */
export function plainJsonSchema(schema: z.core.$ZodType, io: 'input' | 'output', addition: Addition): Json {
  const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema: json }) {
      if (json.type === 'object') separateAdditionalFields(json as Json)
      if (io === 'input' && json.type === 'array' && isPreprocessed(zodSchema)) {
        const list = { ...json }
        for (const key of Object.keys(json)) delete (json as Json)[key]
        json.anyOf = [list as z.core.JSONSchema.BaseSchema, list.items as z.core.JSONSchema.BaseSchema]
      }
      Object.assign(json, addition(zodSchema))
    },
  })
  return converted as Json
}
