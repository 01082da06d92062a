export interface Variable {
  readonly name: string
  readonly what: string
  /** Flag that overrides it. */
  readonly flag?: string
}

/** Every variable of gdn's own. Flags override them, and they override files. */
export const OWN_VARIABLES: readonly Variable[] = [
  { name: 'GDN_BASE_URL', what: 'URL of the server', flag: '--base-url' },
  {
    name: 'GDN_API_KEY',
    what: 'API key of that server. gdn does not send it to a server that only a project file names',
  },
  { name: 'GDN_PROFILE', what: 'Profile to use', flag: '--profile' },
  { name: 'GDN_CONFIG', what: 'Path of your configuration file' },
  { name: 'GDN_BLOCKCHAIN', what: 'Blockchain of the collection', flag: '--blockchain' },
  { name: 'GDN_CONTRACT', what: 'Contract address of the collection', flag: '--contract' },
  { name: 'GDN_WALLET_URL', what: 'Host of signed URLs for wallets, if it is not the server' },
  { name: 'GDN_STATE_DIR', what: 'State directory, for recorded requests and saved addresses', flag: '--state-dir' },
  {
    name: 'GDN_PACE_DIR',
    what: 'Directory in which processes share a rate limit. Use one directory for all containers that share a key',
  },
  { name: 'GDN_RPC_URL', what: 'JSON-RPC URL of the chain, to verify NFTs', flag: '--rpc-url' },
  { name: 'GDN_FORK_URL', what: 'JSON-RPC URL of the network that gdn local exec forks', flag: '--fork' },
  {
    name: 'GDN_BACKEND_CONFIG',
    what: 'Path of the configuration of a backend, instead of backend.yaml in the data directory',
    flag: '--config',
  },
  {
    name: 'GDN_DATABASE_URL',
    what: 'URL of the PostgreSQL database of a backend. If the URL has a password, set this instead of the flag',
    flag: '--database-url',
  },
  {
    name: 'GDN_DATABASE_DIRECT_URL',
    what: 'URL of the same database without the pooler (pgbouncer), for notifications. Without it, processes poll every 2 s',
  },
  {
    name: 'GDN_IPFS_GATEWAY',
    what: 'Trustless gateway from which a backend fetches ipfs:// files',
    flag: '--ipfs-gateway',
  },
  {
    name: 'GDN_ETHERSCAN_KEY',
    what: 'Key of the Etherscan API, to verify contracts',
    flag: '--etherscan-key-file',
  },
  {
    name: 'GDN_IMAGES',
    what: 'How gdn draws images in the terminal: kitty, iterm, sixel, blocks or off. Detected by default',
    flag: '--no-image',
  },
  { name: 'GDN_PAGER', what: 'Pager for tables that are longer than the terminal. Overrides PAGER. cat: no pager' },
  { name: 'GDN_KEYRING', what: 'off: store keys in files, not in the system keyring' },
  { name: 'GDN_NO_INPUT', what: 'Set: never prompt', flag: '--no-input' },
  { name: 'GDN_NO_UPDATE_NOTICE', what: 'Set: do not report newer versions. NO_UPDATE_NOTIFIER does the same' },
  { name: 'GDN_DEBUG', what: 'Set: print requests, timings and stack traces to stderr', flag: '--debug' },
]

/** Variables of other programs that gdn reads. */
export const OTHER_VARIABLES: readonly Variable[] = [
  { name: 'NO_COLOR', what: 'Set and not empty: no colors. Overrides FORCE_COLOR', flag: '--no-color' },
  { name: 'FORCE_COLOR', what: 'Colors without a terminal too: 1, 2 or 3 for their depth, 0 for none' },
  { name: 'PAGER', what: 'Pager for tables that are longer than the terminal' },
  { name: 'NO_PAGER', what: 'Set and not empty: no pager' },
  { name: 'TERM', what: 'dumb: no colors, no animation, no pager' },
  { name: 'CI', what: 'Set: never prompt, page or animate, and do not report newer versions' },
  { name: 'BROWSER', what: 'Browser that gdn open starts, or none to print the URL only' },
  {
    name: 'HTTPS_PROXY',
    what: 'Proxy for https: requests. HTTP_PROXY is for http:, and NO_PROXY lists hosts without a proxy',
  },
  { name: 'XDG_CONFIG_HOME', what: 'Configuration and keys, in gdn below it (~/.config)' },
  { name: 'XDG_STATE_HOME', what: 'State database, in gdn below it (~/.local/state)' },
  { name: 'XDG_DATA_HOME', what: 'Local backend and wallets, in gdn/local and gdn/wallets below it (~/.local/share)' },
  {
    name: 'XDG_CACHE_HOME',
    what: 'Compiled code for faster starts on Node.js 22.8 and newer, in gdn/compile below it (~/.cache)',
  },
  { name: 'NODE_DISABLE_COMPILE_CACHE', what: 'Set: do not store or use compiled code' },
  {
    name: 'AWS_ACCESS_KEY_ID',
    what: 'Credentials of an s3:// storage, with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN',
  },
  { name: 'AWS_PROFILE', what: 'Profile of your AWS credentials, if there is no access key' },
  { name: 'AWS_SHARED_CREDENTIALS_FILE', what: 'Path of that file (~/.aws/credentials)' },
  { name: 'AWS_REGION', what: 'Region of that storage. The fallback is AWS_DEFAULT_REGION' },
]
