import * as z from 'zod'
import { FIELD_NOTES } from './field-notes.ts'

/** Part of an OpenAPI document or of a JSON Schema. */
export type Json = Record<string, unknown>

/** Lists that take a single item in place of a list (`oneOrMore` and the like) are preprocessed by the contract. */
const isPreprocessed = (schema: z.core.$ZodType): boolean => {
  const { def } = schema._zod as z.core.$ZodPipe['_zod']
  return (def.type as string) === 'pipe' && def.in._zod.def.type === 'transform'
}

function describeFields({ properties }: Json): void {
  for (const [name, field] of Object.entries((properties ?? {}) as Record<string, Json>)) {
    const note = FIELD_NOTES[name]
    if (note !== undefined) field.description ??= note
  }
}

/** JSON Schema (2020-12, as OpenAPI 3.1 has it) of what a schema of the contract takes, or of what it answers. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema: json }) {
      if (json.type === 'object') describeFields(json as Json)
      if (io === 'input' && json.type === 'array' && isPreprocessed(zodSchema)) {
        const list = { ...json }
        for (const key of Object.keys(json)) delete (json as Json)[key]
        json.anyOf = [list as z.core.JSONSchema.BaseSchema, list.items as z.core.JSONSchema.BaseSchema]
      }
    },
  })
  return made as Json
}
