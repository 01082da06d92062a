export interface Variable {
  readonly name: string
  readonly what: string
  /** The flag that goes before it, where there is one. */
  readonly flag?: string
}

/** Every variable of ours that is read. Flags go before them, and they go before files. */
export const OWN_VARIABLES: readonly Variable[] = [
  { name: 'GDN_BASE_URL', what: 'Address of the server', flag: '--base-url' },
  { name: 'GDN_API_KEY', what: 'API key of that server. It is sent to no server that only a project file names' },
  { name: 'GDN_PROFILE', what: 'Profile of your configuration', flag: '--profile' },
  { name: 'GDN_CONFIG', what: 'Your configuration file, in place of the usual one' },
  { name: 'GDN_BLOCKCHAIN', what: 'Blockchain of what is minted or looked up', flag: '--blockchain' },
  { name: 'GDN_CONTRACT', what: 'Collection to mint in or to look up', flag: '--contract' },
  { name: 'GDN_WALLET_URL', what: 'Host of signed URLs for wallets, where it is another than the server' },
  { name: 'GDN_STATE_DIR', what: 'Where gdn records what it sends', flag: '--state-dir' },
  {
    name: 'GDN_PACE_DIR',
    what: 'Where processes agree on their pace: name one folder for all containers that share a key',
  },
  { name: 'GDN_RPC_URL', what: 'JSON-RPC of the chain that results are compared with', flag: '--rpc-url' },
  {
    name: 'GDN_BACKEND_CONFIG',
    what: 'Settings of a backend, in place of backend.yaml of the data dir; for its administration too',
    flag: '--config',
  },
  {
    name: 'GDN_DATABASE_URL',
    what: "PostgreSQL of the backend's processes; the place for a URL with a password, which argv is not",
    flag: '--database-url',
  },
  {
    name: 'GDN_DATABASE_DIRECT_URL',
    what: 'The same server past its pooler (pgbouncer), to be woken at once; without, work is looked for every 2 seconds',
  },
  {
    name: 'GDN_IPFS_GATEWAY',
    what: 'Trustless gateway from which a backend fetches ipfs:// files; also ipfs_gateway in backend.yaml',
    flag: '--ipfs-gateway',
  },
  {
    name: 'GDN_IMAGES',
    what: 'How the terminal draws pictures, where that is not found out: kitty, iterm, sixel, blocks or off',
    flag: '--no-image',
  },
  { name: 'GDN_KEYRING', what: 'off: keep keys in files, and ask no keyring of the system' },
  { name: 'GDN_NO_INPUT', what: 'Set: ask nothing', flag: '--no-input' },
  { name: 'GDN_NO_UPDATE_NOTICE', what: 'Set: say nothing of newer versions; NO_UPDATE_NOTIFIER does the same' },
  { name: 'GDN_DEBUG', what: 'Set: requests, timings and stack traces on stderr', flag: '--debug' },
]

/** Variables of others that are heeded. */
export const OTHER_VARIABLES: readonly Variable[] = [
  { name: 'NO_COLOR', what: 'Set and not empty: no colors; goes before FORCE_COLOR', flag: '--no-color' },
  { name: 'FORCE_COLOR', what: 'Colors off a terminal as well: 1, 2 or 3 for their depth, 0 for none' },
  { name: 'TERM', what: 'dumb: no colors, no animation' },
  { name: 'CI', what: 'Set: ask nothing, animate nothing, say nothing of newer versions' },
  { name: 'BROWSER', what: 'The browser that gdn open starts; none for the URL alone' },
  {
    name: 'HTTPS_PROXY',
    what: 'Proxy of requests that leave this machine, HTTP_PROXY for http: addresses; NO_PROXY lists hosts without one',
  },
  { name: 'XDG_CONFIG_HOME', what: 'Configuration and keys: gdn below it (~/.config)' },
  { name: 'XDG_STATE_HOME', what: 'The state database: gdn below it (~/.local/state)' },
  { name: 'XDG_DATA_HOME', what: 'The local backend and wallets: gdn/local and gdn/wallets below it (~/.local/share)' },
  {
    name: 'XDG_CACHE_HOME',
    what: 'Compiled code for faster starts on Node 22.8 and newer: gdn/compile below it (~/.cache)',
  },
  { name: 'NODE_DISABLE_COMPILE_CACHE', what: 'Set: store and use no compiled code' },
  { name: 'AWS_ACCESS_KEY_ID', what: 'For a storage at s3://, with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN' },
  { name: 'AWS_PROFILE', what: 'Else this profile of your AWS credentials' },
  { name: 'AWS_SHARED_CREDENTIALS_FILE', what: 'The file they are in (~/.aws/credentials)' },
  { name: 'AWS_REGION', what: 'Region of that storage; else AWS_DEFAULT_REGION' },
]
