import type { Settings } from '../../../config/settings.ts'

const STORAGE_NAMES = ['storage', 'storage_endpoint', 'storage_region', 'storage_public_url', 'ipfs_api'] as const
const PRICE_NAMES = ['price_url', 'price_path', 'price_currency'] as const
const MANIFEST_NAMES = ['map', 'unknown_columns'] as const
const WALLET_NAMES = ['email', 'wallet_url'] as const
export const SHOWN_SETTINGS = [
  'profile',
  'base_url',
  'blockchain',
  'contract',
  'wallet',
  'rate',
  'api_version',
  ...MANIFEST_NAMES,
  ...STORAGE_NAMES,
  ...WALLET_NAMES,
  ...PRICE_NAMES,
  'ens_rpc_url',
] as const
type SettingName = (typeof SHOWN_SETTINGS)[number]

export interface SettingInEffect {
  name: SettingName
  value: string | number | null
  from: string | null
}

/**
 * Returns the settings with their effective values and sources. Omits optional settings that are unset: API version,
 * columns, storage, prices, email, wallet URL and Ethereum node.
 */
export function settingsInEffect(settings: Settings): SettingInEffect[] {
  const { profile, profileFrom, baseUrl, blockchain, contract, wallet, rate, apiVersion, columnMap, unknownColumns } =
    settings
  const row = (name: SettingName, setting: { value: string | number; from: string } | null): SettingInEffect => ({
    name,
    value: setting?.value ?? null,
    from: setting?.from ?? null,
  })
  return [
    { name: 'profile', value: profile, from: profileFrom },
    row('base_url', baseUrl),
    row('blockchain', blockchain),
    row('contract', contract),
    row('wallet', wallet),
    row('rate', rate),
    ...(apiVersion === null ? [] : [row('api_version', apiVersion)]),
    ...(columnMap === null ? [] : [row('map', { ...columnMap, value: mapText(columnMap.value) })]),
    ...(unknownColumns === null ? [] : [row('unknown_columns', unknownColumns)]),
    ...STORAGE_NAMES.flatMap((name) => {
      const value = settings.storage[name]
      return value === undefined ? [] : [row(name, { value, from: `profile ${profile}` })]
    }),
    ...PRICE_NAMES.flatMap((name) => {
      const value = settings.prices[name]
      return value === undefined ? [] : [row(name, { value, from: `profile ${profile}` })]
    }),
    ...(settings.email === null ? [] : [row('email', settings.email)]),
    ...(settings.walletUrl === null ? [] : [row('wallet_url', settings.walletUrl)]),
    ...(settings.ensRpcUrl === null ? [] : [row('ens_rpc_url', settings.ensRpcUrl)]),
  ]
}

/** Formats a column map in the syntax of `--map`. */
const mapText = (map: Readonly<Record<string, string>>): string =>
  Object.entries(map)
    .map(([column, meaning]) => `${column}=${meaning}`)
    .join(', ')
