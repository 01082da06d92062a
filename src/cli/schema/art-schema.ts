import { type Json, plainJsonSchema } from '../../api/openapi/json-schema.ts'
import { artSchema } from '../../art/schema.ts'

export const artFileSchema = (): Json => plainJsonSchema(artSchema, 'input', () => undefined)
