import { fieldRules } from '../../api/openapi/fields-schema.ts'
import { describeFields, type Json, plainJsonSchema } from '../../api/openapi/json-schema.ts'
import { type ProfileSettings, projectConfigSchema, userConfigSchema } from '../../config/schema.ts'

const FIELD_NOTES: Record<
  '$schema' | 'profile' | 'profiles' | keyof ProfileSettings | 'map' | 'unknown_columns',
  string
> = {
  $schema: 'The schema of this file, for editors',
  profile: 'Default profile',
  profiles: 'Settings of each profile, by name',
  base_url: 'URL of the server',
  blockchain: 'Blockchain of the collection',
  contract: 'Contract address of the collection',
  wallet: 'Your wallet: an address, or a name such as @alice or alice.eth',
  rate: 'Maximum number of requests per second',
  api_version: 'Version of the API that requests follow',
  map: 'Meanings of manifest columns, such as "Mood": "attr:Mood". The meaning "ignore" skips a column',
  unknown_columns: 'How gdn treats unknown manifest columns: attr, extra, ignore or error',
  storage: 'Storage for local files if the server accepts no uploads: s3://<bucket>/<prefix> or ipfs',
  storage_endpoint: 'URL of an S3 service other than AWS',
  storage_region: 'Region of the bucket',
  storage_public_url: 'Public base URL of the stored files',
  ipfs_api: 'URL of the RPC API of a Kubo node',
  email: 'E-mail address of your account, used to generate wallets',
  wallet_url: "Origin of signed wallet URLs, if it differs from the server's origin",
  price_url: "URL of a coin's price. {coin} is the symbol of the network's coin",
  price_path: 'Path of the price in the JSON response, such as data.amount',
  price_currency: 'Currency of the price, such as USD',
  ens_rpc_url: 'JSON-RPC URL of an Ethereum node, to resolve ENS names such as alice.eth',
}

const describedSchema = (schema: typeof projectConfigSchema | typeof userConfigSchema): Json => {
  const jsonSchema = plainJsonSchema(schema, 'input', fieldRules)
  describeFields(jsonSchema, FIELD_NOTES)
  return jsonSchema
}

export const projectSchema = (): Json => describedSchema(projectConfigSchema)

export const userSchema = (): Json => describedSchema(userConfigSchema)
