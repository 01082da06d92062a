# Completions of gdn for fish 3 and later; made from its command tree by src/build/completions.mjs.
# Nothing that is typed or found is ever run or expanded: tables, and values that gdn has sanitised.

function __gdn_words
  switch "$argv[1]"
    case ''
      printf '%s\n' 'collection Create, show and list collections' \
        'nft Mint, transfer, list and verify NFTs' \
        'batch Mint drops from CSV, JSON or JSONL manifests' \
        'wallet Generate, name and export wallets' \
        'local Run a local backend in the background' \
        'serve Run the backend in the foreground' \
        'worker Run a worker of a backend on PostgreSQL' \
        'open Open the web explorer of a backend' \
        'chain Manage the public networks of a backend' \
        'tx Manage the transactions that a backend has signed' \
        'key Manage the API keys of a backend' \
        'webhook Manage webhooks for deployment events' \
        'db Manage the database of a backend' \
        'init Set up a server, its API key and your defaults' \
        'auth Save, show and delete the API keys that you use' \
        'config Manage profiles and their settings' \
        'doctor Diagnose setup problems and suggest fixes' \
        'completion Print a shell completion script' \
        'api Call an API endpoint and print the raw response' \
        'help Help for commands, and help topics'
    case 'collection'
      printf '%s\n' 'create Create a collection and wait until it is deployed' \
        'show Show collections by ID or contract address' \
        'list List the collections created on this machine'
    case 'nft'
      printf '%s\n' 'mint Mint NFTs and wait until they are deployed' \
        'grant Mint NFTs to a first owner and transfer them in one step' \
        'transfer Transfer an NFT and wait until its owner changes' \
        'list List the NFTs of a collection' \
        'show Show NFTs by ID' \
        'wait Wait until NFTs are deployed' \
        'verify Compare an NFT with its chain and storage'
    case 'batch'
      printf '%s\n' 'template Print a sample manifest' \
        'validate Validate a manifest without sending anything' \
        'preview Write an HTML preview of a manifest' \
        'mint Mint every row of a manifest, or resume its run' \
        'list List the runs on this machine' \
        'status Show the rows of a run by state' \
        'resume Resume an interrupted run' \
        'retry Retry the failed rows of a run' \
        'reconcile Resolve the rows of a run whose outcome is unknown' \
        'results Show the outcome of every row in a run' \
        'report Write an HTML report of the NFTs that a run minted' \
        'rm Delete a run and its rows from this machine'
    case 'wallet'
      printf '%s\n' 'generate Generate a wallet and keep its key in an encrypted file' \
        'url Print a signed URL that generates a wallet' \
        'list List named wallets and addresses' \
        'add Name an address' \
        'rm Delete the name of a wallet or address' \
        'export Export a keystore or its private key'
    case 'local'
      printf '%s\n' 'start Start the local backend' \
        'stop Stop the local backend' \
        'status Show whether and where the local backend runs' \
        'logs Show the log of the local backend' \
        'listen Show events of the local backend, and forward them' \
        'reset Delete all data of the local backend' \
        'exec Run a command against a temporary backend'
    case 'chain'
      printf '%s\n' 'list List the public networks of a backend' \
        'setup Deploy the factory and authorize signers on a network' \
        'status Show nodes, fees, factory and signers of a network'
    case 'tx'
      printf '%s\n' 'list List the transactions that a backend has signed' \
        'show Show a transaction with all its attempts' \
        'bump Raise the fees of a pending transaction' \
        'cancel Cancel a pending transaction' \
        'unknown List mints on chain that a backend does not know' \
        'release Let a collection mint again after unknown tokens'
    case 'key'
      printf '%s\n' 'create Create an API key for a backend' \
        'list List the API keys of a backend' \
        'revoke Revoke an API key of a backend'
    case 'webhook'
      printf '%s\n' 'add Add a webhook for deployment events' \
        'list List the webhooks of a backend' \
        'show Show a webhook with its failures' \
        'rm Delete a webhook' \
        'test Send a test event to a webhook' \
        'deliveries List a webhook\'s deliveries and responses' \
        'replay Replay the events of a webhook'
    case 'db'
      printf '%s\n' 'export Export the database of a backend to a file' \
        'import Import an export into an empty database' \
        'migrate Migrate the database to the schema of this version' \
        'status Show the database of a backend and its migrations'
    case 'auth'
      printf '%s\n' 'login Save the API key of a server' \
        'status Show saved API keys and where they are stored' \
        'logout Delete the saved API key of a server'
    case 'config'
      printf '%s\n' 'get Print one setting' \
        'set Save a setting in a profile' \
        'unset Remove a setting from a profile' \
        'list List the configuration in effect and its sources' \
        'path Print the paths of configuration and state'
    case 'help'
      printf '%s\n' 'environment Environment variables, and which setting takes precedence' \
        'exit-codes What each exit code means, and what to do' \
        'manifest Columns of a drop, its formats and limits' \
        'output JSON, CSV, ids, tables; fields; colors; what scripts may rely on' \
        'blockchains The blockchains of the API, and what each can do' \
        'security Where keys are kept, where they go, what is never shown' \
        'collection Create, show and list collections' \
        'nft Mint, transfer, list and verify NFTs' \
        'batch Mint drops from CSV, JSON or JSONL manifests' \
        'wallet Generate, name and export wallets' \
        'local Run a local backend in the background' \
        'serve Run the backend in the foreground' \
        'worker Run a worker of a backend on PostgreSQL' \
        'open Open the web explorer of a backend' \
        'chain Manage the public networks of a backend' \
        'tx Manage the transactions that a backend has signed' \
        'key Manage the API keys of a backend' \
        'webhook Manage webhooks for deployment events' \
        'db Manage the database of a backend' \
        'init Set up a server, its API key and your defaults' \
        'auth Save, show and delete the API keys that you use' \
        'config Manage profiles and their settings' \
        'doctor Diagnose setup problems and suggest fixes' \
        'completion Print a shell completion script' \
        'api Call an API endpoint and print the raw response'
  end
end

function __gdn_arguments
  switch "$argv[1]"
    case 'collection show'
      printf '%s\n' '@collections+'
    case 'nft transfer'
      printf '%s\n' 'text'
    case 'nft show'
      printf '%s\n' 'text+'
    case 'nft wait'
      printf '%s\n' 'text+'
    case 'nft verify'
      printf '%s\n' 'text'
    case 'batch validate'
      printf '%s\n' 'file'
    case 'batch preview'
      printf '%s\n' 'file'
    case 'batch mint'
      printf '%s\n' 'file'
    case 'batch status'
      printf '%s\n' '@runs'
    case 'batch resume'
      printf '%s\n' '@runs'
    case 'batch retry'
      printf '%s\n' '@runs'
    case 'batch reconcile'
      printf '%s\n' '@runs'
    case 'batch results'
      printf '%s\n' '@runs'
    case 'batch report'
      printf '%s\n' '@runs'
    case 'batch rm'
      printf '%s\n' '@runs'
    case 'wallet add'
      printf '%s\n' 'text text'
    case 'wallet rm'
      printf '%s\n' '@wallets'
    case 'wallet export'
      printf '%s\n' '@wallets'
    case 'local exec'
      printf '%s\n' 'command+'
    case 'open'
      printf '%s\n' '@runs'
    case 'chain setup'
      printf '%s\n' '=blockchain'
    case 'chain status'
      printf '%s\n' '=blockchain'
    case 'tx show'
      printf '%s\n' 'text'
    case 'tx bump'
      printf '%s\n' 'text'
    case 'tx cancel'
      printf '%s\n' 'text'
    case 'tx release'
      printf '%s\n' 'text'
    case 'key revoke'
      printf '%s\n' 'text'
    case 'webhook add'
      printf '%s\n' 'text'
    case 'webhook show'
      printf '%s\n' 'text'
    case 'webhook rm'
      printf '%s\n' 'text'
    case 'webhook test'
      printf '%s\n' 'text'
    case 'webhook deliveries'
      printf '%s\n' 'text'
    case 'webhook replay'
      printf '%s\n' 'text'
    case 'db export'
      printf '%s\n' 'file'
    case 'db import'
      printf '%s\n' 'file'
    case 'config get'
      printf '%s\n' '=name'
    case 'config set'
      printf '%s\n' '=name-2 text'
    case 'config unset'
      printf '%s\n' '=name-2'
    case 'completion'
      printf '%s\n' '=shell'
    case 'api'
      printf '%s\n' '=endpoint'
  end
end

function __gdn_bundles
  switch "$argv[1]"
    case 'collection create'
      printf '%s\n' 'flags-4b9b53 sending-and-waiting-606508 server-367f30 output-54fd8b'
    case 'collection show'
      printf '%s\n' 'flags-883978 server-367f30 output-54fd8b'
    case 'collection list'
      printf '%s\n' 'server-367f30 output-54fd8b'
    case 'nft mint'
      printf '%s\n' 'flags-febba6 metadata-849690 sending-and-waiting-606508 of-manifests-eabf75 server-367f30 output-54fd8b'
    case 'nft grant'
      printf '%s\n' 'flags-362a90 metadata-849690 sending-and-waiting-606508 server-367f30 output-54fd8b'
    case 'nft transfer'
      printf '%s\n' 'flags-5107d6 sending-and-waiting-996db4 server-367f30 output-54fd8b'
    case 'nft list'
      printf '%s\n' 'flags-0543c8 server-367f30 output-54fd8b'
    case 'nft show'
      printf '%s\n' 'flags-11e5bb server-367f30 output-54fd8b'
    case 'nft wait'
      printf '%s\n' 'sending-and-waiting-9d182f server-367f30 output-54fd8b'
    case 'nft verify'
      printf '%s\n' 'flags-bfed4b verifying-c48997 server-367f30 output-54fd8b'
    case 'batch template'
      printf '%s\n' 'flags-d37262 output-faa6fe'
    case 'batch validate'
      printf '%s\n' 'flags-984c93 server-367f30 output-54fd8b'
    case 'batch preview'
      printf '%s\n' 'flags-b0f6cf server-367f30 output-54fd8b'
    case 'batch mint'
      printf '%s\n' 'flags-9135eb the-run-bccddd sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b'
    case 'batch list'
      printf '%s\n' 'flags-1d15ba server-367f30 output-54fd8b'
    case 'batch status'
      printf '%s\n' 'server-367f30 output-54fd8b'
    case 'batch resume'
      printf '%s\n' 'flags-fd9bb3 the-run-0963b3 sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b'
    case 'batch retry'
      printf '%s\n' 'flags-54933a the-run-0963b3 sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b'
    case 'batch reconcile'
      printf '%s\n' 'flags-b82660 the-run-bc8413 sending-and-waiting-9d182f verifying-9423cd server-367f30 output-54fd8b'
    case 'batch results'
      printf '%s\n' 'flags-e5460a verifying-9423cd server-367f30 output-54fd8b'
    case 'batch report'
      printf '%s\n' 'flags-fb8276 server-367f30 output-54fd8b'
    case 'batch rm'
      printf '%s\n' 'flags-2be4da server-367f30 output-54fd8b'
    case 'wallet generate'
      printf '%s\n' 'flags-03ac05 server-367f30 output-54fd8b'
    case 'wallet url'
      printf '%s\n' 'flags-ff2a9d server-367f30 output-54fd8b'
    case 'wallet list'
      printf '%s\n' 'output-54fd8b'
    case 'wallet add'
      printf '%s\n' 'output-54fd8b'
    case 'wallet rm'
      printf '%s\n' 'output-54fd8b'
    case 'wallet export'
      printf '%s\n' 'flags-3a0908 output-e2291c'
    case 'local start'
      printf '%s\n' 'flags-66928d output-54fd8b'
    case 'local stop'
      printf '%s\n' 'output-54fd8b'
    case 'local status'
      printf '%s\n' 'output-54fd8b'
    case 'local logs'
      printf '%s\n' 'flags-97132d output-faa6fe'
    case 'local listen'
      printf '%s\n' 'flags-b0fb9d output-503596'
    case 'local reset'
      printf '%s\n' 'flags-5c44b2 output-54fd8b'
    case 'local exec'
      printf '%s\n' 'flags-52fd7c output-faa6fe'
    case 'serve'
      printf '%s\n' 'flags-ca0b82 output-822765'
    case 'worker'
      printf '%s\n' 'flags-1ca6b6 output-8e1f1c'
    case 'open'
      printf '%s\n' 'flags-a2aae6 server-367f30 output-8ff328'
    case 'chain list'
      printf '%s\n' 'flags-537d2e output-54fd8b'
    case 'chain setup'
      printf '%s\n' 'flags-abf46b output-54fd8b'
    case 'chain status'
      printf '%s\n' 'flags-537d2e output-54fd8b'
    case 'tx list'
      printf '%s\n' 'flags-e07f1f output-54fd8b'
    case 'tx show'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'tx bump'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'tx cancel'
      printf '%s\n' 'flags-ec21f5 output-54fd8b'
    case 'tx unknown'
      printf '%s\n' 'flags-090c30 output-54fd8b'
    case 'tx release'
      printf '%s\n' 'flags-c5244e output-54fd8b'
    case 'key create'
      printf '%s\n' 'flags-8fa255 output-54fd8b'
    case 'key list'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'key revoke'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'webhook add'
      printf '%s\n' 'flags-83ceaa output-54fd8b'
    case 'webhook list'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'webhook show'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'webhook rm'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'webhook test'
      printf '%s\n' 'flags-8464f6 output-54fd8b'
    case 'webhook deliveries'
      printf '%s\n' 'flags-ffd5af output-54fd8b'
    case 'webhook replay'
      printf '%s\n' 'flags-ea88b1 output-54fd8b'
    case 'db export'
      printf '%s\n' 'flags-537d2e output-54fd8b'
    case 'db import'
      printf '%s\n' 'flags-537d2e output-54fd8b'
    case 'db migrate'
      printf '%s\n' 'flags-537d2e output-54fd8b'
    case 'db status'
      printf '%s\n' 'flags-537d2e output-54fd8b'
    case 'init'
      printf '%s\n' 'flags-771d79 output-54fd8b'
    case 'auth login'
      printf '%s\n' 'flags-5fd97c server-367f30 output-54fd8b'
    case 'auth status'
      printf '%s\n' 'flags-6578cb server-367f30 output-54fd8b'
    case 'auth logout'
      printf '%s\n' 'flags-1813e5 server-367f30 output-54fd8b'
    case 'config get'
      printf '%s\n' 'server-367f30 output-54fd8b'
    case 'config set'
      printf '%s\n' 'flags-44cedf output-54fd8b'
    case 'config unset'
      printf '%s\n' 'flags-ac17d9 output-54fd8b'
    case 'config list'
      printf '%s\n' 'flags-f738c3 server-367f30 output-54fd8b'
    case 'config path'
      printf '%s\n' 'server-b25872 output-54fd8b'
    case 'doctor'
      printf '%s\n' 'server-367f30 flags-2cc465 output-54fd8b'
    case 'completion'
      printf '%s\n' 'output-faa6fe'
    case 'api'
      printf '%s\n' 'flags-e5169d output-1748b8 server-367f30'
  end
end

function __gdn_flags
  switch "$argv[1]"
    case 'flags-4b9b53'
      printf '%s\n' '--name - text Name of the collection' \
        '--blockchain -b =blockchain Blockchain it is made on' \
        '--wallet - @wallets Wallet that owns it: an address, or @name' \
        '--wallet-address ~ @wallets Wallet that owns it: an address, or @name' \
        '--description - text Description (needed on Solana)' \
        '--image - text Image (needed on Solana)' \
        '--enable-transfer - - Let the API transfer its NFTs' \
        '--no-enable-transfer - - Don\'t let the API transfer its NFTs (the default; a terminal asks)' \
        '--enable-api - - Let the API mint in it (the default)' \
        '--no-enable-api - - Don\'t let the API mint in it' \
        '--locked - - Its NFTs can never be transferred' \
        '--is-locked ~ - Its NFTs can never be transferred' \
        '--file -f file JSON request; - is standard input. Flags win over it'
    case 'sending-and-waiting-606508'
      printf '%s\n' '--wait - - Wait until it is deployed (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long to wait after acceptance (5m)' \
        '--dry-run - - Print the request, send nothing' \
        '--yes -y - Don\'t prompt before spending on a public network' \
        '--again - - Send another request, whatever the outcome of an earlier one' \
        '--operation - text Repeat the operation with this UUID, or give a new one this ID'
    case 'server-367f30'
      printf '%s\n' '--local - - The backend that gdn local start runs' \
        '--base-url - text Address of the server' \
        '--profile - @profiles Profile of your configuration' \
        '--state-dir - dir Where runs and commands are recorded'
    case 'output-54fd8b'
      printf '%s\n' '--output -o =output table, json, ndjson, csv or ids' \
        '--json - - Same as --output json' \
        '--fields - text Print these fields only' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-883978'
      printf '%s\n' '--blockchain -b =blockchain Blockchain of the collections'
    case 'flags-febba6'
      printf '%s\n' '--contract -c @collections Collection to mint in' \
        '--contract-address ~ @collections Collection to mint in' \
        '--contract-addresses ~ @collections Collection to mint in' \
        '--blockchain -b =blockchain Its blockchain' \
        '--receiver - @wallets Wallet that gets the NFT: an address, or @name' \
        '--receiver-wallet-address ~ @wallets Wallet that gets the NFT: an address, or @name' \
        '--file -f file JSON request or manifest; - is standard input'
    case 'metadata-849690'
      printf '%s\n' '--title - text Title' \
        '--description - text Description' \
        '--image - file Same as --media image=…' \
        '--media - pairfile+ A file of it; repeatable' \
        '--extra - text+ An extra key; repeatable' \
        '--attr - text+ An attribute; repeatable'
    case 'of-manifests-eabf75'
      printf '%s\n' '--run - @run-names Name of the run' \
        '--chunk-size - text NFTs to a request (50)' \
        '--rate - text Requests a second' \
        '--in-order - - Keep the manifest\'s order of rows' \
        '--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable' \
        '--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)'
    case 'flags-362a90'
      printf '%s\n' '--contract -c @collections Collection to mint in' \
        '--contract-address ~ @collections Collection to mint in' \
        '--contract-addresses ~ @collections Collection to mint in' \
        '--blockchain -b =blockchain Its blockchain' \
        '--sender - @wallets First owner: an address, or @name (your profile\'s wallet)' \
        '--sender-wallet-address ~ @wallets First owner: an address, or @name (your profile\'s wallet)' \
        '--receiver - @wallets Wallet that gets the NFT: an address, or @name' \
        '--receiver-wallet-address ~ @wallets Wallet that gets the NFT: an address, or @name' \
        '--file -f file JSON request; - is standard input. Flags win over it'
    case 'flags-5107d6'
      printf '%s\n' '--receiver - @wallets New owner: an address, or @name' \
        '--receiver-wallet-address ~ @wallets New owner: an address, or @name' \
        '--sender - @wallets Present owner' \
        '--sender-wallet-address ~ @wallets Present owner' \
        '--token-id - text Its token id' \
        '--tokenid ~ text Its token id' \
        '--contract -c @collections Its collection' \
        '--contract-address ~ @collections Its collection' \
        '--contract-addresses ~ @collections Its collection' \
        '--blockchain -b =blockchain Its blockchain' \
        '--file -f file JSON request; - is standard input. Flags win over it'
    case 'sending-and-waiting-996db4'
      printf '%s\n' '--wait - - Wait until its owner changed (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long to wait after acceptance (5m)' \
        '--dry-run - - Print the request, send nothing' \
        '--yes -y - Don\'t prompt before spending on a public network' \
        '--again - - Send another request, whatever the outcome of an earlier one' \
        '--operation - text Repeat the operation with this UUID, or give a new one this ID'
    case 'flags-0543c8'
      printf '%s\n' '--contract -c @collections The collection' \
        '--contract-address ~ @collections The collection' \
        '--contract-addresses ~ @collections The collection' \
        '--blockchain -b =blockchain Its blockchain' \
        '--limit - text List the first n NFTs only'
    case 'flags-11e5bb'
      printf '%s\n' '--no-image - - Draw no picture' \
        '--gateway - text IPFS gateway to take the picture from; without it, a gdn backend\'s own'
    case 'sending-and-waiting-9d182f'
      printf '%s\n' '--timeout - text How long to wait (5m)'
    case 'flags-bfed4b'
      printf '%s\n' '--receiver - @wallets Its owner; --owner means the same' \
        '--owner ~ @wallets Its owner; --owner means the same' \
        '--receiver-wallet-address ~ @wallets Its owner; --owner means the same' \
        '--blockchain -b =blockchain Its blockchain'
    case 'verifying-c48997'
      printf '%s\n' '--on-chain - - Read owner, token URI and metadata from chain and storage too' \
        '--rpc-url - text JSON-RPC of the chain (GDN_RPC_URL); without it, the server\'s own' \
        '--gateway - text IPFS gateway; without it, the server\'s own'
    case 'flags-d37262'
      printf '%s\n' '--format - =format csv, json, jsonl (csv)' \
        '--blockchain -b =blockchain Blockchain of the collection (polygon)' \
        '--receiver - @wallets Receiver of its rows'
    case 'output-faa6fe'
      printf '%s\n' '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-984c93'
      printf '%s\n' '--contract -c @collections Collection to mint in' \
        '--contract-address ~ @collections Collection to mint in' \
        '--contract-addresses ~ @collections Collection to mint in' \
        '--blockchain -b =blockchain Its blockchain' \
        '--receiver - @wallets Wallet of rows that name none' \
        '--receiver-wallet-address ~ @wallets Wallet of rows that name none' \
        '--sender - @wallets First owner of rows that name none' \
        '--sender-wallet-address ~ @wallets First owner of rows that name none' \
        '--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable' \
        '--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)' \
        '--check-files - - Ask for every file URL first, a few at a time' \
        '--preview - - Draw the pictures of the first rows; on a terminal only'
    case 'flags-b0f6cf'
      printf '%s\n' '--to - file The file to write (<manifest>-preview.html)' \
        '--force - - Write it in place of a file of that name' \
        '--open - - Open it in the browser' \
        '--remote-images - - Have the page load pictures from the web' \
        '--contract -c @collections Collection to mint in' \
        '--contract-address ~ @collections Collection to mint in' \
        '--contract-addresses ~ @collections Collection to mint in' \
        '--blockchain -b =blockchain Its blockchain' \
        '--receiver - @wallets Wallet of rows that name none' \
        '--receiver-wallet-address ~ @wallets Wallet of rows that name none' \
        '--sender - @wallets First owner of rows that name none' \
        '--sender-wallet-address ~ @wallets First owner of rows that name none' \
        '--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable' \
        '--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)'
    case 'flags-9135eb'
      printf '%s\n' '--contract -c @collections Collection to mint in' \
        '--contract-address ~ @collections Collection to mint in' \
        '--contract-addresses ~ @collections Collection to mint in' \
        '--blockchain -b =blockchain Its blockchain' \
        '--receiver - @wallets Wallet of rows that name none' \
        '--receiver-wallet-address ~ @wallets Wallet of rows that name none' \
        '--sender - @wallets First owner of rows that name none' \
        '--sender-wallet-address ~ @wallets First owner of rows that name none' \
        '--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable' \
        '--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)' \
        '--check-files - - Ask for every file URL first, a few at a time'
    case 'the-run-bccddd'
      printf '%s\n' '--run - @run-names Name of the run; without it, the path of the manifest' \
        '--again - - Mint a second drop: of a finished run, or of rows accepted in another run' \
        '--new-rows - - Mint new rows though sent rows are not in the manifest anymore' \
        '--adopt - - Take rows that are in the collection already as minted by this run' \
        '--no-lookup - - Don\'t look into the collection before rows are sent; with --dry-run, don\'t ask the server' \
        '--marker-key - text Give each row a value of its own under this key of its metadata, to find it by; it becomes public' \
        '--chunk-size - text NFTs to a request (50)' \
        '--rate - text Requests a second' \
        '--upload-concurrency - text Local files uploaded at a time (8)' \
        '--listing-wait - text How long the collection\'s list is given to catch up before its word is taken (30s, more where it lags)' \
        '--in-order - - Keep the manifest\'s order of rows'
    case 'sending-and-waiting-30710e'
      printf '%s\n' '--wait - - Wait until all are deployed (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long to wait after acceptance (5m)' \
        '--dry-run - - Print the request, send nothing' \
        '--yes -y - Don\'t prompt before spending on a public network'
    case 'verifying-9423cd'
      printf '%s\n' '--verify - - Compare owner, token URI and metadata with chain and storage themselves; exit code 5 where something differs' \
        '--rpc-url - text JSON-RPC of the chain (GDN_RPC_URL); without it, the server\'s own' \
        '--gateway - text IPFS gateway; without it, the server\'s own'
    case 'flags-1d15ba'
      printf '%s\n' '--all - - Include single commands: each is a run of one'
    case 'flags-fd9bb3'
      printf '%s\n' '--retry-failed - - Send rows again that were refused or whose NFT failed'
    case 'the-run-0963b3'
      printf '%s\n' '--chunk-size - text NFTs to a request (50)' \
        '--rate - text Requests a second' \
        '--upload-concurrency - text Local files uploaded at a time (8)' \
        '--listing-wait - text How long the collection\'s list is given to catch up before its word is taken (30s, more where it lags)'
    case 'flags-54933a'
      printf '%s\n' '--absent - - Rows of unknown outcome that reconciling found absent, not those that failed'
    case 'flags-b82660'
      printf '%s\n' '--row - text+ Say what a row became: the id of its NFT, or absent; several times'
    case 'the-run-bc8413'
      printf '%s\n' '--rate - text Requests a second' \
        '--upload-concurrency - text Local files uploaded at a time (8)' \
        '--listing-wait - text How long the collection\'s list is given to catch up before its word is taken (30s, more where it lags)'
    case 'flags-e5460a'
      printf '%s\n' '--status - ,status Only rows in these states: pending, accepted, deployed, failed, unknown' \
        '--for-spreadsheet - - Put a \' before what a spreadsheet would run: cells that begin with = + - @ or a tab, also after spaces and quotes'
    case 'flags-fb8276'
      printf '%s\n' '--to - file The file to write (<run>-report.html)' \
        '--force - - Write it in place of a file of that name' \
        '--open - - Open it in the browser' \
        '--gateway - text IPFS gateway that pictures come from and links lead to; without it, the server\'s own'
    case 'flags-2be4da'
      printf '%s\n' '--finished - - All finished runs; of a server named by a flag, only its own' \
        '--yes -y - Remove without a prompt'
    case 'flags-03ac05'
      printf '%s\n' '--name - text Its name here; without it wallet-1, wallet-2, …' \
        '--count - text So many wallets, named <name>-1, <name>-2, …' \
        '--password-file - file File that holds the password; - is standard input' \
        '--weak-password - - Accept a password of fewer than 8 characters, for tests' \
        '--show-private-key - - Print the private key too' \
        '--email - text E-mail address of the account (your profile\'s email)' \
        '--valid-for - text How long the signed URL can be used: 15m, 24h, at most 7d'
    case 'flags-ff2a9d'
      printf '%s\n' '--email - text E-mail address of the account (your profile\'s email)' \
        '--valid-for - text How long the signed URL can be used: 15m, 24h, at most 7d'
    case 'flags-3a0908'
      printf '%s\n' '--format - =format-2 keystore (as it is kept) or private-key' \
        '--to - file A new file; - is the screen, or the pipe' \
        '--password-file - file File that holds the password; - is standard input'
    case 'output-e2291c'
      printf '%s\n' '--json - - Print JSON: what was exported, and where it is' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-66928d'
      printf '%s\n' '--port - text Port to listen on; 0 picks one' \
        '--rate-limits - =rate-limits Rate limits of the API (on)' \
        '--allow-private-files - - Fetch files from private addresses too; for development' \
        '--allow-html-files - - Store HTML files too, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them' \
        '--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here'
    case 'flags-97132d'
      printf '%s\n' '--follow -f - Go on showing new lines until Ctrl-C' \
        '--lines - text How many of the last lines (100)'
    case 'flags-b0fb9d'
      printf '%s\n' '--forward-to - text Post each event there' \
        '--event - ,event+ What to hear; repeatable (\'*\')' \
        '--email - text Whose account (the local one)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'output-503596'
      printf '%s\n' '--json - - Print a line of JSON for each event, and for each answer' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-5c44b2'
      printf '%s\n' '--yes -y - Don\'t ask'
    case 'flags-52fd7c'
      printf '%s\n' '--rate-limits - =rate-limits Rate limits of the API (on)' \
        '--allow-private-files - - Fetch files from private addresses too; for development' \
        '--allow-html-files - - Store HTML files too, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them' \
        '--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here' \
        '--faults - file Let requests fail as the file says'
    case 'flags-ca0b82'
      printf '%s\n' '--host - text Address to listen on (127.0.0.1)' \
        '--port - text Port to listen on (4680); 0 picks one' \
        '--data-dir - dir Where everything is kept' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' \
        '--role - =role api takes requests, worker does the work, all does both (all)' \
        '--rate-limits - =rate-limits Rate limits of the API (on)' \
        '--allow-private-files - - Fetch files from private addresses too; for development' \
        '--allow-html-files - - Store HTML files too, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them' \
        '--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here' \
        '--allowed-host - text+ Host header to answer besides loopback; repeatable' \
        '--tls-cert - file Serve https with this certificate and its chain (PEM)' \
        '--tls-key - file Its private key (PEM), a file of mode 0600; SIGHUP reads both anew' \
        '--trust-proxy - text+ Believe X-Forwarded-* headers of this address or network; repeatable' \
        '--allow-local-key - - Take the local account\'s key from other machines too' \
        '--max-connections - text Connections held open at once (2000)' \
        '--max-connections-per-address - text Of them by one address of another machine (200)' \
        '--single-use-urls - - A signed URL makes one wallet and no more' \
        '--drain - text Go on answering so long after SIGTERM, while /readyz says no (0s)' \
        '--log-level - =log-level silent, info or debug' \
        '--log-file - file Write the log there instead of to stderr' \
        '--config - file Networks by RPC URL (backend.yaml of the data dir)' \
        '--faults - file Let requests fail as the file says; for tests of your own'
    case 'output-822765'
      printf '%s\n' '--json - - Print one line of JSON when it is ready' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-1ca6b6'
      printf '%s\n' '--data-dir - dir Settings, and files where they are kept there' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' \
        '--config - file Database and networks (backend.yaml of the data dir)' \
        '--concurrency - text NFTs whose files are fetched at once (16)' \
        '--chain - text+ Work on this blockchain and no other; repeatable' \
        '--health-port - text Answer /healthz, /readyz and /metrics there; 0 picks one' \
        '--host - text Address of that port (127.0.0.1)' \
        '--allow-private-files - - Fetch files from private addresses too; for development' \
        '--allow-html-files - - Store HTML files too, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them' \
        '--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here' \
        '--log-level - =log-level silent, info or debug' \
        '--log-file - file Write the log there instead of to stderr'
    case 'output-8e1f1c'
      printf '%s\n' '--json - - Print one line of JSON when it works' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-a2aae6'
      printf '%s\n' '--print - - Print the URL, and open nothing'
    case 'output-8ff328'
      printf '%s\n' '--json - - Print JSON: the URL; open nothing' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'flags-537d2e'
      printf '%s\n' '--config - file Settings of the backend (backend.yaml of the data dir)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-abf46b'
      printf '%s\n' '--admin-keystore - file Keystore of the factory\'s admin' \
        '--password-file - file Its password; asked for without' \
        '--factory - text A factory of this admin that is there already' \
        '--dry-run - - Show what would be sent and what it costs at most; send nothing' \
        '--yes -y - Don\'t ask before anything is spent' \
        '--timeout - text How long to wait for the network (1h)' \
        '--config - file Settings of the backend (backend.yaml of the data dir)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-e07f1f'
      printf '%s\n' '--blockchain -b =blockchain Of this blockchain only' \
        '--state - =state In this state only: signed, final, reverted, lost, cancelled' \
        '--limit - text At most so many (50)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-8464f6'
      printf '%s\n' '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-ec21f5'
      printf '%s\n' '--yes -y - Don\'t ask' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-090c30'
      printf '%s\n' '--all - - Also those that were released' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-c5244e'
      printf '%s\n' '--fail-pending - - Fail the NFTs that wait instead of minting them' \
        '--yes -y - Don\'t ask' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-8fa255'
      printf '%s\n' '--name - text What the key is for' \
        '--email - text Whose account it is for; made if it is new' \
        '--permission - ,permission+ What it may do; repeatable' \
        '--expires - text 30d, 12h, or the last day (UTC): 2027-01-31 (never)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-83ceaa'
      printf '%s\n' '--event - ,event+ What to tell; repeatable' \
        '--email - text Whose account (the local one)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-ffd5af'
      printf '%s\n' '--state - =state-2 In this state only: waiting, delivered, failed' \
        '--limit - text At most so many (50)' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-ea88b1'
      printf '%s\n' '--id - text+ These events; repeatable' \
        '--since - text All events of this time, delivered or not: 24h' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-771d79'
      printf '%s\n' '--hosted - - A service, at a URL' \
        '--local - - The backend that gdn local start runs' \
        '--base-url - text Address of the service' \
        '--key-file - file File that holds its API key; - is standard input' \
        '--store - =store Where to keep the key (the keyring, where one works)' \
        '--blockchain -b =blockchain Your usual blockchain' \
        '--wallet - @wallets Your usual wallet' \
        '--profile - @profiles Name of the profile (default)' \
        '--start - - Start the local backend' \
        '--no-start - - Don\'t start the local backend' \
        '--no-check - - Don\'t try what was given' \
        '--yes -y - Replace a profile of that name'
    case 'flags-5fd97c'
      printf '%s\n' '--key-file - file File that holds the key; - is standard input' \
        '--store - =store Where to keep it (the keyring, where one works)' \
        '--no-check - - Don\'t try the key before it is saved'
    case 'flags-6578cb'
      printf '%s\n' '--check - - Try each key at its server; exit 4 if one is refused, 6 if a server is away'
    case 'flags-1813e5'
      printf '%s\n' '--all - - Forget every saved key'
    case 'flags-44cedf'
      printf '%s\n' '--profile - @profiles The profile to change' \
        '--base-url - text With api_key: the server that the key is for'
    case 'flags-ac17d9'
      printf '%s\n' '--profile - @profiles The profile to change' \
        '--base-url - text With api_key: the server whose key is forgotten'
    case 'flags-f738c3'
      printf '%s\n' '--profiles - - List the profiles instead; gdn config set profile <name> chooses one'
    case 'server-b25872'
      printf '%s\n' '--state-dir - dir Where runs and commands are recorded'
    case 'flags-2cc465'
      printf '%s\n' '--config - file Settings of a backend to look at' \
        '--data-dir - dir The backend\'s data dir (that of gdn local start)' \
        '--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    case 'flags-e5169d'
      printf '%s\n' '--file -f file JSON of the request; - is standard input' \
        '--input ~ file JSON of the request; - is standard input' \
        '--field - text+ A member of the request; key[]= adds to a list, key:= takes JSON' \
        '--idempotency-key - text Key of a request that creates (a new one)' \
        '--dry-run - - Print the request, send nothing' \
        '--yes -y - Don\'t prompt before spending on a public network'
    case 'output-1748b8'
      printf '%s\n' '--json - - Print it on one line, on a terminal too' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-color - - No colors' \
        '--no-input - - Ask nothing' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--help -h - Help for this command'
    case 'gdn'
      printf '%s\n' '--help -h - Help for the command' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-input - - Ask nothing' \
        '--no-color - - No colors' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--version -V - Print the version' \
        '--base-url - text Address of the server' \
        '--profile - @profiles Profile of your configuration' \
        '--state-dir - dir Where runs and commands are recorded' \
        '--output -o =output table, json, ndjson, csv or ids' \
        '--fields - text Print these fields only'
    case 'help'
      printf '%s\n' '--help -h - Help for the command' \
        '--quiet -q - Say nothing but data and errors' \
        '--no-input - - Ask nothing' \
        '--no-color - - No colors' \
        '--debug - - More on stderr: requests, timings, stack traces' \
        '--version -V - Print the version' \
        '--json - - The command tree as JSON'
  end
end

function __gdn_values
  switch "$argv[1]"
    case 'blockchain'
      printf '%s\n' 'polygon' \
        'polygon-mumbai' \
        'astar' \
        'astar-shiden' \
        'astar-shibuya' \
        'avalanche' \
        'avalanche-fuji' \
        'optimism' \
        'optimism-goerli' \
        'fantom' \
        'fantom-testnet' \
        'solana' \
        'solana-testnet' \
        'bnb-mainnet' \
        'bnb-testnet'
    case 'output'
      printf '%s\n' 'table' \
        'json' \
        'ndjson' \
        'csv' \
        'ids'
    case 'unknown-columns'
      printf '%s\n' 'error' \
        'attr' \
        'extra'
    case 'format'
      printf '%s\n' 'csv' \
        'json' \
        'jsonl'
    case 'status'
      printf '%s\n' 'pending' \
        'accepted' \
        'deployed' \
        'failed' \
        'unknown'
    case 'format-2'
      printf '%s\n' 'keystore' \
        'private-key'
    case 'rate-limits'
      printf '%s\n' 'on' \
        'off'
    case 'event'
      printf '%s\n' 'nft.deployed' \
        'nft.failed' \
        'collection.deployed' \
        'collection.failed' \
        'transfer.deployed' \
        'transfer.failed' \
        '*'
    case 'role'
      printf '%s\n' 'all' \
        'api' \
        'worker'
    case 'log-level'
      printf '%s\n' 'silent' \
        'info' \
        'debug'
    case 'state'
      printf '%s\n' 'signed' \
        'final' \
        'reverted' \
        'lost' \
        'cancelled'
    case 'permission'
      printf '%s\n' 'collection:create' \
        'nft:create' \
        'nft:transfer' \
        'nft:read' \
        'wallet:create' \
        'all'
    case 'state-2'
      printf '%s\n' 'waiting' \
        'delivered' \
        'failed'
    case 'store'
      printf '%s\n' 'keyring' \
        'file'
    case 'name'
      printf '%s\n' 'profile' \
        'base_url' \
        'blockchain' \
        'contract' \
        'wallet' \
        'rate' \
        'storage' \
        'storage_endpoint' \
        'storage_region' \
        'storage_public_url' \
        'ipfs_api' \
        'email' \
        'wallet_url'
    case 'name-2'
      printf '%s\n' 'profile' \
        'api_key' \
        'base_url' \
        'blockchain' \
        'contract' \
        'wallet' \
        'rate' \
        'storage' \
        'storage_endpoint' \
        'storage_region' \
        'storage_public_url' \
        'ipfs_api' \
        'email' \
        'wallet_url'
    case 'shell'
      printf '%s\n' 'bash' \
        'zsh' \
        'fish' \
        'powershell'
    case 'endpoint'
      printf '%s\n' 'createnft' \
        'transfernft' \
        'createnfttrans' \
        'getnftgdnids' \
        'getnfts' \
        'getisgdnnft' \
        'createcollection' \
        'getpresignedurl' \
        'getcollections' \
        'gettransactions' \
        'getreferences'
  end
end

# The flags of a command ("gdn": those that may stand before one), a line each.
function __gdn_flags_of
  set -l bundles (__gdn_bundles $argv[1] | string split -n ' ')
  test (count $bundles) -gt 0; or set bundles $argv[1]
  for bundle in $bundles
    __gdn_flags $bundle
  end
end

# What the flag $argv[1] takes, of the lines that follow; nothing for one that isn't known.
function __gdn_takes
  for line in $argv[2..]
    set -l part (string split -m 3 ' ' -- $line)
    if contains -- $argv[1] $part[1..2]
      string replace -r '\+$' '' -- $part[3]
      return
    end
  end
end

# Prints lines of values as fish wants them, behind what stands in the word already.
function __gdn_offer -a before
  for line in $argv[2..]
    set -l part (string split -m 1 -- ' ' $line)
    printf '%s%s\t%s\n' $before $part[1] "$part[2]"
  end
end

# Prints what a flag or an argument takes: kind, what stands in the word already, what is typed behind it, the words.
function __gdn_offer_kind -a kind before typed
  switch "$kind"
    case '@*'
      set -l found (command gdn __complete (string sub -s 2 -- $kind) $argv[4..] 2>/dev/null)
      for line in $found
        printf '%s%s\n' $before $line
      end
    case '=*'
      __gdn_offer "$before" (__gdn_values (string sub -s 2 -- $kind))
    case ',*'
      set -l earlier (string match -r '^.*,' -- "$typed")
      __gdn_offer "$before$earlier" (__gdn_values (string sub -s 2 -- $kind))
    case file
      __gdn_offer_paths "$before" (__fish_complete_path "$typed")
    case dir
      __gdn_offer_paths "$before" (__fish_complete_directories "$typed" '')
    case pairfile
      set -l pair (string match -r '^([^=]+=)(.*)$' -- "$typed")
      and __gdn_offer_paths "$before$pair[2]" (__fish_complete_path "$pair[3]")
  end
end

function __gdn_offer_paths -a before
  for path in $argv[2..]
    printf '%s%s\n' "$before" $path
  end
end

function __gdn_offer_flags
  set -l given (commandline -opc)
  for line in $argv
    set -l part (string split -m 3 ' ' -- $line)
    test "$part[2]" = '~'; and continue
    string match -q '*+' -- $part[3]; or not contains -- $part[1] $given; or continue
    printf '%s\t%s\n' $part[1] "$part[4]"
    test "$part[2]" = -; or printf '%s\t%s\n' $part[2] "$part[4]"
  end
end

function __gdn_complete
  set -l before (commandline -opc)[2..]
  set -l typed (commandline -ct)
  set -l flags (__gdn_flags_of gdn)
  set -l cmd
  set -l wants ''
  set -l ended 0
  set -l place 0
  set -l i 0
  for word in $before
    set i (math $i + 1)
    if test -n "$wants"
      set wants ''
    else if test $ended -gt 0
      set place (math $place + 1)
    else if test "$word" = --
      set ended $i
    else if string match -q -- '-*=*' "$word"
      continue
    else if string match -q -- '-?*' "$word"
      set wants (__gdn_takes $word $flags)
      test "$wants" = -; and set wants ''
    else if test "$cmd[1]" = help
      set -a cmd $word
    else if test (count $cmd) -lt 2; and test -n (__gdn_bundles (string join ' ' -- $cmd $word) | string collect)
      set -a cmd $word
      set flags (__gdn_flags_of (string join ' ' -- $cmd))
    else if test (count $cmd) -eq 0
      set cmd $word
      test "$cmd" = help; and set flags (__gdn_flags_of help)
    else
      set place (math $place + 1)
    end
  end

  set -l kind ''
  for one in (__gdn_arguments (string join ' ' -- $cmd) | string split -n ' ')
    set kind $one
    test $place -eq 0; or string match -q '*+' -- $one; and break
    set place (math $place - 1)
    set kind ''
  end
  set kind (string replace -r '\+$' '' -- $kind)

  if test -n "$wants"
    __gdn_offer_kind $wants '' "$typed" $before
  else if test $ended -gt 0
    if test "$kind" = command
      complete -C (string join ' ' -- (string escape -- $before[(math $ended + 1)..]) "$typed" | string collect)
    else
      __gdn_offer_kind "$kind" '' "$typed" $before
    end
  else if string match -q -- '--*=*' "$typed"
    set -l pair (string match -r '^(--[^=]+)=(.*)$' -- "$typed")
    set wants (__gdn_takes $pair[2] $flags)
    __gdn_offer_kind "$wants" "$pair[2]=" "$pair[3]" $before
  else if string match -q -- '-*' "$typed"
    __gdn_offer_flags $flags
  else
    set -l words (__gdn_words (string join ' ' -- $cmd))
    if test "$cmd[1]" = help; and test (count $cmd) -gt 1
      set words (__gdn_words (string join ' ' -- $cmd[2..]))
    end
    if test (count $words) -gt 0
      __gdn_offer '' $words
    else if contains -- "$kind" '' text command
      __gdn_offer_flags $flags
    else
      __gdn_offer_kind $kind '' "$typed" $before
    end
  end
end

complete -c gdn -f -k -a '(__gdn_complete)'
