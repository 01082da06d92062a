export interface Variable {
  readonly name: string
  readonly description: string
  /** Flag that overrides the variable. */
  readonly flag?: string
}

/** Environment variables of gdn. They override configuration files, and flags override them. */
export const ENVIRONMENT_VARIABLES: readonly Variable[] = [
  { name: 'GDN_BASE_URL', description: 'URL of the server', flag: '--base-url' },
  {
    name: 'GDN_API_KEY',
    description: 'API key for the server. gdn does not send it to a server that is set only in the project file',
  },
  { name: 'GDN_PROFILE', description: 'Profile to use', flag: '--profile' },
  { name: 'GDN_CONFIG', description: 'Path of your configuration file' },
  { name: 'GDN_BLOCKCHAIN', description: 'Blockchain of the collection', flag: '--blockchain' },
  { name: 'GDN_CONTRACT', description: 'Contract address of the collection', flag: '--contract' },
  { name: 'GDN_WALLET_URL', description: "Origin of signed wallet URLs, if it differs from the server's origin" },
  {
    name: 'GDN_STATE_DIR',
    description: 'State directory, for recorded requests and saved addresses',
    flag: '--state-dir',
  },
  {
    name: 'GDN_PACE_DIR',
    description:
      'Directory with the rate limits that processes share. Use one directory for all containers that share a key',
  },
  {
    name: 'GDN_RPC_URL',
    description: 'JSON-RPC URL of a node of the network, to verify NFTs, estimate costs and change collections',
    flag: '--rpc-url',
  },
  {
    name: 'GDN_ENS_RPC_URL',
    description:
      'JSON-RPC URL of an Ethereum node, to resolve ENS names such as alice.eth. Overrides ens_rpc_url of the profile',
  },
  { name: 'GDN_FORK_URL', description: 'JSON-RPC URL of the network that gdn local exec forks', flag: '--fork' },
  {
    name: 'GDN_EXEC_DATA_DIR',
    description:
      'Data directory of the temporary backend that --local selects. gdn local exec sets this variable for its command',
  },
  {
    name: 'GDN_BACKEND_CONFIG',
    description: "Path of a backend's configuration file. Default: backend.yaml in the data directory",
    flag: '--config',
  },
  {
    name: 'GDN_DATABASE_URL',
    description:
      'URL of the PostgreSQL database of a backend. If the URL has a password, set this variable instead of the flag',
    flag: '--database-url',
  },
  {
    name: 'GDN_DATABASE_DIRECT_URL',
    description:
      'Database URL that bypasses a pooler such as PgBouncer, for notifications. Without it, workers behind a pooler find new requests by polling the database every 2 s',
  },
  {
    name: 'GDN_IPFS_GATEWAY',
    description: 'Trustless gateway from which a backend fetches ipfs:// files',
    flag: '--ipfs-gateway',
  },
  {
    name: 'GDN_ETHERSCAN_KEY',
    description: 'Etherscan API key, to verify contracts',
    flag: '--etherscan-key-file',
  },
  {
    name: 'GDN_OPENSEA_KEY',
    description: 'OpenSea API key, to refresh NFTs',
    flag: '--opensea-key-file',
  },
  {
    name: 'GDN_IMAGES',
    description:
      'How gdn draws images in the terminal: kitty, iterm, sixel, blocks or off. By default, gdn detects the method',
    flag: '--no-image',
  },
  {
    name: 'GDN_PAGER',
    description: 'Pager for tables that are longer than the terminal. Overrides PAGER. Set to cat to disable the pager',
  },
  { name: 'GDN_KEYRING', description: 'Set to off to store keys in files instead of the system keyring' },
  { name: 'GDN_NO_INPUT', description: 'Set to 1 to disable prompts', flag: '--no-input' },
  {
    name: 'GDN_NO_UPDATE_NOTICE',
    description: 'Set to 1 to disable notices about newer versions, as with NO_UPDATE_NOTIFIER',
  },
  { name: 'GDN_DEBUG', description: 'Set to 1 to print requests, timings and stack traces to stderr', flag: '--debug' },
]

export const OTHER_VARIABLES: readonly Variable[] = [
  { name: 'NO_COLOR', description: 'Set to any value to disable colors. Overrides FORCE_COLOR', flag: '--no-color' },
  {
    name: 'FORCE_COLOR',
    description: 'Set to a color level (1, 2 or 3) to enable colors even without a terminal, or to 0 to disable colors',
  },
  { name: 'PAGER', description: 'Pager for tables that are longer than the terminal' },
  { name: 'NO_PAGER', description: 'Set to any value to disable the pager' },
  { name: 'TERM', description: 'Set to dumb to disable colors, animations, images and the pager' },
  {
    name: 'CI',
    description: 'Set to true to disable prompts, the pager, animations, images and notices about newer versions',
  },
  { name: 'BROWSER', description: 'Browser that gdn open starts. Set to none to only print the URL' },
  {
    name: 'HTTPS_PROXY',
    description:
      'Proxy for https:// URLs. HTTP_PROXY sets the proxy for http:// URLs. NO_PROXY lists hosts that bypass the proxy',
  },
  {
    name: 'XDG_CONFIG_HOME',
    description: 'Base folder of the configuration and keys, which gdn stores in its subfolder gdn. Default: ~/.config',
  },
  {
    name: 'XDG_STATE_HOME',
    description: 'Base folder of the state database, which gdn stores in its subfolder gdn. Default: ~/.local/state',
  },
  {
    name: 'XDG_DATA_HOME',
    description:
      'Base folder of the local backend and wallets, which gdn stores in its subfolders gdn/local and gdn/wallets. Default: ~/.local/share',
  },
  {
    name: 'XDG_CACHE_HOME',
    description:
      'Base folder of the compile cache (stored in its subfolder gdn/compile), which makes gdn start faster on Node.js 22.8 and newer. Default: ~/.cache',
  },
  { name: 'NODE_DISABLE_COMPILE_CACHE', description: 'Set to 1 to disable the cache of compiled code' },
  {
    name: 'AWS_ACCESS_KEY_ID',
    description:
      'Access key ID for S3 storage (s3://). Also set AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN for temporary credentials',
  },
  { name: 'AWS_PROFILE', description: 'Profile in the AWS credentials file, if no access key is set' },
  { name: 'AWS_SHARED_CREDENTIALS_FILE', description: 'Path of the AWS credentials file. Default: ~/.aws/credentials' },
  { name: 'AWS_REGION', description: 'Region of the S3 storage (s3://). Default: AWS_DEFAULT_REGION' },
]
