import * as z from 'zod'
import { isObject } from '../../core/json.ts'
import { FIELD_NOTES } from './field-notes.ts'

/** Part of an OpenAPI document or of a JSON Schema. */
export type Json = Record<string, unknown>

/** Whether the contract preprocesses a list, because it accepts a single item instead (`oneOrMore` and similar). */
const isPreprocessed = (schema: z.core.$ZodType): boolean => {
  const { def } = schema._zod as z.core.$ZodPipe['_zod']
  return (def.type as string) === 'pipe' && def.in._zod.def.type === 'transform'
}

/** Adds descriptions to fields that have none, by their names. */
export function describeFields(schema: unknown, notes: Readonly<Record<string, string>>): void {
  if (!isObject(schema)) return
  for (const [name, field] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    const note = notes[name]
    if (note !== undefined && isObject(field)) field.description ??= note
  }
  for (const part of Object.values(schema)) describeFields(part, notes)
}

/**
 * States the type of further fields by a pattern that excludes the named fields. `additionalProperties` means the same
 * to a validator, but type generators apply it to the named fields too, and no request would match.
 */
function separateFurtherFields(schema: Json): void {
  const { properties, additionalProperties: further } = schema
  if (!isObject(properties) || !isObject(further) || Object.keys(further).length === 0) return
  schema.patternProperties = { [`^(?!(${Object.keys(properties).join('|')})$)`]: further }
  schema.additionalProperties = true
}

/** Returns the schema that applies one or the other schema by a condition. */
export const when = (condition: Json, yes: Json, no?: Json): Json =>
  Object.fromEntries([['if', condition], ['then', yes], ...(no === undefined ? [] : [['else', no]])])

/** Returns additions to the JSON Schema that zod derives from a schema; undefined for most schemas. */
export type Addition = (schema: z.core.$ZodType) => Json | undefined

/**
 * Returns the JSON Schema (2020-12, as in OpenAPI 3.1) of the input or the output of a schema of the contract.
 *
 * @param notes descriptions of fields by name, which replace the usual ones
 */
export function jsonSchema(
  schema: z.core.$ZodType,
  io: 'input' | 'output',
  notes: Readonly<Record<string, string>> = {},
  addition: Addition = () => undefined,
): Json {
  const made = plainJsonSchema(schema, io, addition)
  // Not in `override`, where fields of the same type are still one object.
  describeFields(made, { ...FIELD_NOTES, ...notes })
  return made
}

/** As `jsonSchema`, with the descriptions of the schema itself only. */
export function plainJsonSchema(schema: z.core.$ZodType, io: 'input' | 'output', addition: Addition): Json {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema: json }) {
      if (json.type === 'object') separateFurtherFields(json as Json)
      if (io === 'input' && json.type === 'array' && isPreprocessed(zodSchema)) {
        const list = { ...json }
        for (const key of Object.keys(json)) delete (json as Json)[key]
        json.anyOf = [list as z.core.JSONSchema.BaseSchema, list.items as z.core.JSONSchema.BaseSchema]
      }
      Object.assign(json, addition(zodSchema))
    },
  })
  return made as Json
}
