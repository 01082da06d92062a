import type * as z from 'zod'
import { fieldRules } from '../../api/openapi/fields-schema.ts'
import { conditionalSchema, type Json, plainJsonSchema } from '../../api/openapi/json-schema.ts'
import { settingsFileSchema } from '../../server/settings/schema.ts'
import { SIGNER_KINDS } from '../../server/settings/signer-schema.ts'

/** Adds the schema of signers, which zod can't derive because a function parses them. */
function signerRules(schema: z.core.$ZodType): Json | undefined {
  const { parent = schema } = schema._zod
  const kinds = SIGNER_KINDS.get(parent)
  if (kinds === undefined) return fieldRules(schema)
  const [having, without] = [kinds.having, kinds.without].map((kind) => plainJsonSchema(kind, 'input', signerRules))
  return { type: 'object', ...conditionalSchema({ required: [kinds.field] }, having ?? {}, without) }
}

export const backendSchema = (): Json => plainJsonSchema(settingsFileSchema, 'input', signerRules)
