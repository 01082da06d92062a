# Completions of gdn for PowerShell 5.1 and later; made from its command tree by src/build/completions.mjs.
# Nothing that is typed or found is ever run or expanded: tables, and values that gdn has sanitised.

Register-ArgumentCompleter -Native -CommandName gdn -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  $words = @{
    '' = 'collection Create, show and list collections
nft Mint, transfer, list and verify NFTs
batch Mint drops from CSV, JSON or JSONL manifests
wallet Generate, name and export wallets
local Run a local backend in the background
serve Run the backend in the foreground
worker Run a worker of a backend on PostgreSQL
open Open the web explorer of a backend
chain Manage the public networks of a backend
tx Manage the transactions that a backend has signed
key Manage the API keys of a backend
webhook Manage webhooks for deployment events
db Manage the database of a backend
init Set up a server, its API key and your defaults
auth Save, show and delete the API keys that you use
config Manage profiles and their settings
doctor Diagnose setup problems and suggest fixes
completion Print a shell completion script
api Call an API endpoint and print the raw response
help Help for commands, and help topics'
    'collection' = 'create Create a collection and wait until it is deployed
show Show collections by ID or contract address
list List the collections created on this machine'
    'nft' = 'mint Mint NFTs and wait until they are deployed
grant Mint NFTs to a first owner and transfer them in one step
transfer Transfer an NFT and wait until its owner changes
list List the NFTs of a collection
show Show NFTs by ID
wait Wait until NFTs are deployed
verify Compare an NFT with its chain and storage'
    'batch' = 'template Print a sample manifest
validate Validate a manifest without sending anything
preview Write an HTML preview of a manifest
mint Mint every row of a manifest, or resume its run
list List the runs on this machine
status Show the rows of a run by state
resume Resume an interrupted run
retry Retry the failed rows of a run
reconcile Resolve the rows of a run whose outcome is unknown
results Show the outcome of every row in a run
report Write an HTML report of the NFTs that a run minted
rm Delete a run and its rows from this machine'
    'wallet' = 'generate Generate a wallet and keep its key in an encrypted file
url Print a signed URL that generates a wallet
list List named wallets and addresses
add Name an address
rm Delete the name of a wallet or address
export Export a keystore or its private key'
    'local' = 'start Start the local backend
stop Stop the local backend
status Show whether and where the local backend runs
logs Show the log of the local backend
listen Show events of the local backend, and forward them
reset Delete all data of the local backend
exec Run a command against a temporary backend'
    'chain' = 'list List the public networks of a backend
setup Deploy the factory and authorize signers on a network
status Show nodes, fees, factory and signers of a network'
    'tx' = 'list List the transactions that a backend has signed
show Show a transaction with all its attempts
bump Raise the fees of a pending transaction
cancel Cancel a pending transaction
unknown List mints on chain that a backend does not know
release Let a collection mint again after unknown tokens'
    'key' = 'create Create an API key for a backend
list List the API keys of a backend
revoke Revoke an API key of a backend'
    'webhook' = 'add Add a webhook for deployment events
list List the webhooks of a backend
show Show a webhook with its failures
rm Delete a webhook
test Send a test event to a webhook
deliveries List a webhook''s deliveries and responses
replay Replay the events of a webhook'
    'db' = 'export Export the database of a backend to a file
import Import an export into an empty database
migrate Migrate the database to the schema of this version
status Show the database of a backend and its migrations'
    'auth' = 'login Save the API key of a server
status Show saved API keys and where they are stored
logout Delete the saved API key of a server'
    'config' = 'get Print one setting
set Save a setting in a profile
unset Remove a setting from a profile
list List the configuration in effect and its sources
path Print the paths of configuration and state'
    'help' = 'environment Environment variables, and which setting takes precedence
exit-codes What each exit code means, and what to do
manifest Columns of a drop, its formats and limits
output JSON, CSV, ids, tables; fields; colors; what scripts may rely on
blockchains The blockchains of the API, and what each can do
security Where keys are kept, where they go, what is never shown
collection Create, show and list collections
nft Mint, transfer, list and verify NFTs
batch Mint drops from CSV, JSON or JSONL manifests
wallet Generate, name and export wallets
local Run a local backend in the background
serve Run the backend in the foreground
worker Run a worker of a backend on PostgreSQL
open Open the web explorer of a backend
chain Manage the public networks of a backend
tx Manage the transactions that a backend has signed
key Manage the API keys of a backend
webhook Manage webhooks for deployment events
db Manage the database of a backend
init Set up a server, its API key and your defaults
auth Save, show and delete the API keys that you use
config Manage profiles and their settings
doctor Diagnose setup problems and suggest fixes
completion Print a shell completion script
api Call an API endpoint and print the raw response'
  }

  $arguments = @{
    'collection show' = '@collections+'
    'nft transfer' = 'text'
    'nft show' = 'text+'
    'nft wait' = 'text+'
    'nft verify' = 'text'
    'batch validate' = 'file'
    'batch preview' = 'file'
    'batch mint' = 'file'
    'batch status' = '@runs'
    'batch resume' = '@runs'
    'batch retry' = '@runs'
    'batch reconcile' = '@runs'
    'batch results' = '@runs'
    'batch report' = '@runs'
    'batch rm' = '@runs'
    'wallet add' = 'text text'
    'wallet rm' = '@wallets'
    'wallet export' = '@wallets'
    'local exec' = 'command+'
    'open' = '@runs'
    'chain setup' = '=blockchain'
    'chain status' = '=blockchain'
    'tx show' = 'text'
    'tx bump' = 'text'
    'tx cancel' = 'text'
    'tx release' = 'text'
    'key revoke' = 'text'
    'webhook add' = 'text'
    'webhook show' = 'text'
    'webhook rm' = 'text'
    'webhook test' = 'text'
    'webhook deliveries' = 'text'
    'webhook replay' = 'text'
    'db export' = 'file'
    'db import' = 'file'
    'config get' = '=name'
    'config set' = '=name-2 text'
    'config unset' = '=name-2'
    'completion' = '=shell'
    'api' = '=endpoint'
  }

  $bundles = @{
    'collection create' = 'flags-4b9b53 sending-and-waiting-606508 server-367f30 output-54fd8b'
    'collection show' = 'flags-883978 server-367f30 output-54fd8b'
    'collection list' = 'server-367f30 output-54fd8b'
    'nft mint' = 'flags-febba6 metadata-849690 sending-and-waiting-606508 of-manifests-eabf75 server-367f30 output-54fd8b'
    'nft grant' = 'flags-362a90 metadata-849690 sending-and-waiting-606508 server-367f30 output-54fd8b'
    'nft transfer' = 'flags-5107d6 sending-and-waiting-996db4 server-367f30 output-54fd8b'
    'nft list' = 'flags-0543c8 server-367f30 output-54fd8b'
    'nft show' = 'flags-11e5bb server-367f30 output-54fd8b'
    'nft wait' = 'sending-and-waiting-9d182f server-367f30 output-54fd8b'
    'nft verify' = 'flags-bfed4b verifying-c48997 server-367f30 output-54fd8b'
    'batch template' = 'flags-d37262 output-faa6fe'
    'batch validate' = 'flags-984c93 server-367f30 output-54fd8b'
    'batch preview' = 'flags-b0f6cf server-367f30 output-54fd8b'
    'batch mint' = 'flags-9135eb the-run-bccddd sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b'
    'batch list' = 'flags-1d15ba server-367f30 output-54fd8b'
    'batch status' = 'server-367f30 output-54fd8b'
    'batch resume' = 'flags-fd9bb3 the-run-0963b3 sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b'
    'batch retry' = 'flags-54933a the-run-0963b3 sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b'
    'batch reconcile' = 'flags-b82660 the-run-bc8413 sending-and-waiting-9d182f verifying-9423cd server-367f30 output-54fd8b'
    'batch results' = 'flags-e5460a verifying-9423cd server-367f30 output-54fd8b'
    'batch report' = 'flags-fb8276 server-367f30 output-54fd8b'
    'batch rm' = 'flags-2be4da server-367f30 output-54fd8b'
    'wallet generate' = 'flags-03ac05 server-367f30 output-54fd8b'
    'wallet url' = 'flags-ff2a9d server-367f30 output-54fd8b'
    'wallet list' = 'output-54fd8b'
    'wallet add' = 'output-54fd8b'
    'wallet rm' = 'output-54fd8b'
    'wallet export' = 'flags-3a0908 output-e2291c'
    'local start' = 'flags-66928d output-54fd8b'
    'local stop' = 'output-54fd8b'
    'local status' = 'output-54fd8b'
    'local logs' = 'flags-97132d output-faa6fe'
    'local listen' = 'flags-b0fb9d output-503596'
    'local reset' = 'flags-5c44b2 output-54fd8b'
    'local exec' = 'flags-52fd7c output-faa6fe'
    'serve' = 'flags-ca0b82 output-822765'
    'worker' = 'flags-1ca6b6 output-8e1f1c'
    'open' = 'flags-a2aae6 server-367f30 output-8ff328'
    'chain list' = 'flags-537d2e output-54fd8b'
    'chain setup' = 'flags-abf46b output-54fd8b'
    'chain status' = 'flags-537d2e output-54fd8b'
    'tx list' = 'flags-e07f1f output-54fd8b'
    'tx show' = 'flags-8464f6 output-54fd8b'
    'tx bump' = 'flags-8464f6 output-54fd8b'
    'tx cancel' = 'flags-ec21f5 output-54fd8b'
    'tx unknown' = 'flags-090c30 output-54fd8b'
    'tx release' = 'flags-c5244e output-54fd8b'
    'key create' = 'flags-8fa255 output-54fd8b'
    'key list' = 'flags-8464f6 output-54fd8b'
    'key revoke' = 'flags-8464f6 output-54fd8b'
    'webhook add' = 'flags-83ceaa output-54fd8b'
    'webhook list' = 'flags-8464f6 output-54fd8b'
    'webhook show' = 'flags-8464f6 output-54fd8b'
    'webhook rm' = 'flags-8464f6 output-54fd8b'
    'webhook test' = 'flags-8464f6 output-54fd8b'
    'webhook deliveries' = 'flags-ffd5af output-54fd8b'
    'webhook replay' = 'flags-ea88b1 output-54fd8b'
    'db export' = 'flags-537d2e output-54fd8b'
    'db import' = 'flags-537d2e output-54fd8b'
    'db migrate' = 'flags-537d2e output-54fd8b'
    'db status' = 'flags-537d2e output-54fd8b'
    'init' = 'flags-771d79 output-54fd8b'
    'auth login' = 'flags-5fd97c server-367f30 output-54fd8b'
    'auth status' = 'flags-6578cb server-367f30 output-54fd8b'
    'auth logout' = 'flags-1813e5 server-367f30 output-54fd8b'
    'config get' = 'server-367f30 output-54fd8b'
    'config set' = 'flags-44cedf output-54fd8b'
    'config unset' = 'flags-ac17d9 output-54fd8b'
    'config list' = 'flags-f738c3 server-367f30 output-54fd8b'
    'config path' = 'server-b25872 output-54fd8b'
    'doctor' = 'server-367f30 flags-2cc465 output-54fd8b'
    'completion' = 'output-faa6fe'
    'api' = 'flags-e5169d output-1748b8 server-367f30'
  }

  $flags = @{
    'flags-4b9b53' = '--name - text Name of the collection
--blockchain -b =blockchain Blockchain it is made on
--wallet - @wallets Wallet that owns it: an address, or @name
--wallet-address ~ @wallets Wallet that owns it: an address, or @name
--description - text Description (needed on Solana)
--image - text Image (needed on Solana)
--enable-transfer - - Let the API transfer its NFTs
--no-enable-transfer - - Don''t let the API transfer its NFTs (the default; a terminal asks)
--enable-api - - Let the API mint in it (the default)
--no-enable-api - - Don''t let the API mint in it
--locked - - Its NFTs can never be transferred
--is-locked ~ - Its NFTs can never be transferred
--file -f file JSON request; - is standard input. Flags win over it'
    'sending-and-waiting-606508' = '--wait - - Wait until it is deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long to wait after acceptance (5m)
--dry-run - - Print the request, send nothing
--yes -y - Don''t prompt before spending on a public network
--again - - Send another request, whatever the outcome of an earlier one
--operation - text Repeat the operation with this UUID, or give a new one this ID'
    'server-367f30' = '--local - - The backend that gdn local start runs
--base-url - text Address of the server
--profile - @profiles Profile of your configuration
--state-dir - dir Where runs and commands are recorded'
    'output-54fd8b' = '--output -o =output table, json, ndjson, csv or ids
--json - - Same as --output json
--fields - text Print these fields only
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-883978' = '--blockchain -b =blockchain Blockchain of the collections'
    'flags-febba6' = '--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--receiver - @wallets Wallet that gets the NFT: an address, or @name
--receiver-wallet-address ~ @wallets Wallet that gets the NFT: an address, or @name
--file -f file JSON request or manifest; - is standard input'
    'metadata-849690' = '--title - text Title
--description - text Description
--image - file Same as --media image=…
--media - pairfile+ A file of it; repeatable
--extra - text+ An extra key; repeatable
--attr - text+ An attribute; repeatable'
    'of-manifests-eabf75' = '--run - @run-names Name of the run
--chunk-size - text NFTs to a request (50)
--rate - text Requests a second
--in-order - - Keep the manifest''s order of rows
--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)'
    'flags-362a90' = '--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--sender - @wallets First owner: an address, or @name (your profile''s wallet)
--sender-wallet-address ~ @wallets First owner: an address, or @name (your profile''s wallet)
--receiver - @wallets Wallet that gets the NFT: an address, or @name
--receiver-wallet-address ~ @wallets Wallet that gets the NFT: an address, or @name
--file -f file JSON request; - is standard input. Flags win over it'
    'flags-5107d6' = '--receiver - @wallets New owner: an address, or @name
--receiver-wallet-address ~ @wallets New owner: an address, or @name
--sender - @wallets Present owner
--sender-wallet-address ~ @wallets Present owner
--token-id - text Its token id
--tokenid ~ text Its token id
--contract -c @collections Its collection
--contract-address ~ @collections Its collection
--contract-addresses ~ @collections Its collection
--blockchain -b =blockchain Its blockchain
--file -f file JSON request; - is standard input. Flags win over it'
    'sending-and-waiting-996db4' = '--wait - - Wait until its owner changed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long to wait after acceptance (5m)
--dry-run - - Print the request, send nothing
--yes -y - Don''t prompt before spending on a public network
--again - - Send another request, whatever the outcome of an earlier one
--operation - text Repeat the operation with this UUID, or give a new one this ID'
    'flags-0543c8' = '--contract -c @collections The collection
--contract-address ~ @collections The collection
--contract-addresses ~ @collections The collection
--blockchain -b =blockchain Its blockchain
--limit - text List the first n NFTs only'
    'flags-11e5bb' = '--no-image - - Draw no picture
--gateway - text IPFS gateway to take the picture from; without it, a gdn backend''s own'
    'sending-and-waiting-9d182f' = '--timeout - text How long to wait (5m)'
    'flags-bfed4b' = '--receiver - @wallets Its owner; --owner means the same
--owner ~ @wallets Its owner; --owner means the same
--receiver-wallet-address ~ @wallets Its owner; --owner means the same
--blockchain -b =blockchain Its blockchain'
    'verifying-c48997' = '--on-chain - - Read owner, token URI and metadata from chain and storage too
--rpc-url - text JSON-RPC of the chain (GDN_RPC_URL); without it, the server''s own
--gateway - text IPFS gateway; without it, the server''s own'
    'flags-d37262' = '--format - =format csv, json, jsonl (csv)
--blockchain -b =blockchain Blockchain of the collection (polygon)
--receiver - @wallets Receiver of its rows'
    'output-faa6fe' = '--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-984c93' = '--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--receiver - @wallets Wallet of rows that name none
--receiver-wallet-address ~ @wallets Wallet of rows that name none
--sender - @wallets First owner of rows that name none
--sender-wallet-address ~ @wallets First owner of rows that name none
--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)
--check-files - - Ask for every file URL first, a few at a time
--preview - - Draw the pictures of the first rows; on a terminal only'
    'flags-b0f6cf' = '--to - file The file to write (<manifest>-preview.html)
--force - - Write it in place of a file of that name
--open - - Open it in the browser
--remote-images - - Have the page load pictures from the web
--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--receiver - @wallets Wallet of rows that name none
--receiver-wallet-address ~ @wallets Wallet of rows that name none
--sender - @wallets First owner of rows that name none
--sender-wallet-address ~ @wallets First owner of rows that name none
--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)'
    'flags-9135eb' = '--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--receiver - @wallets Wallet of rows that name none
--receiver-wallet-address ~ @wallets Wallet of rows that name none
--sender - @wallets First owner of rows that name none
--sender-wallet-address ~ @wallets First owner of rows that name none
--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)
--check-files - - Ask for every file URL first, a few at a time'
    'the-run-bccddd' = '--run - @run-names Name of the run; without it, the path of the manifest
--again - - Mint a second drop: of a finished run, or of rows accepted in another run
--new-rows - - Mint new rows though sent rows are not in the manifest anymore
--adopt - - Take rows that are in the collection already as minted by this run
--no-lookup - - Don''t look into the collection before rows are sent; with --dry-run, don''t ask the server
--marker-key - text Give each row a value of its own under this key of its metadata, to find it by; it becomes public
--chunk-size - text NFTs to a request (50)
--rate - text Requests a second
--upload-concurrency - text Local files uploaded at a time (8)
--listing-wait - text How long the collection''s list is given to catch up before its word is taken (30s, more where it lags)
--in-order - - Keep the manifest''s order of rows'
    'sending-and-waiting-30710e' = '--wait - - Wait until all are deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long to wait after acceptance (5m)
--dry-run - - Print the request, send nothing
--yes -y - Don''t prompt before spending on a public network'
    'verifying-9423cd' = '--verify - - Compare owner, token URI and metadata with chain and storage themselves; exit code 5 where something differs
--rpc-url - text JSON-RPC of the chain (GDN_RPC_URL); without it, the server''s own
--gateway - text IPFS gateway; without it, the server''s own'
    'flags-1d15ba' = '--all - - Include single commands: each is a run of one'
    'flags-fd9bb3' = '--retry-failed - - Send rows again that were refused or whose NFT failed'
    'the-run-0963b3' = '--chunk-size - text NFTs to a request (50)
--rate - text Requests a second
--upload-concurrency - text Local files uploaded at a time (8)
--listing-wait - text How long the collection''s list is given to catch up before its word is taken (30s, more where it lags)'
    'flags-54933a' = '--absent - - Rows of unknown outcome that reconciling found absent, not those that failed'
    'flags-b82660' = '--row - text+ Say what a row became: the id of its NFT, or absent; several times'
    'the-run-bc8413' = '--rate - text Requests a second
--upload-concurrency - text Local files uploaded at a time (8)
--listing-wait - text How long the collection''s list is given to catch up before its word is taken (30s, more where it lags)'
    'flags-e5460a' = '--status - ,status Only rows in these states: pending, accepted, deployed, failed, unknown
--for-spreadsheet - - Put a '' before what a spreadsheet would run: cells that begin with = + - @ or a tab, also after spaces and quotes'
    'flags-fb8276' = '--to - file The file to write (<run>-report.html)
--force - - Write it in place of a file of that name
--open - - Open it in the browser
--gateway - text IPFS gateway that pictures come from and links lead to; without it, the server''s own'
    'flags-2be4da' = '--finished - - All finished runs; of a server named by a flag, only its own
--yes -y - Remove without a prompt'
    'flags-03ac05' = '--name - text Its name here; without it wallet-1, wallet-2, …
--count - text So many wallets, named <name>-1, <name>-2, …
--password-file - file File that holds the password; - is standard input
--weak-password - - Accept a password of fewer than 8 characters, for tests
--show-private-key - - Print the private key too
--email - text E-mail address of the account (your profile''s email)
--valid-for - text How long the signed URL can be used: 15m, 24h, at most 7d'
    'flags-ff2a9d' = '--email - text E-mail address of the account (your profile''s email)
--valid-for - text How long the signed URL can be used: 15m, 24h, at most 7d'
    'flags-3a0908' = '--format - =format-2 keystore (as it is kept) or private-key
--to - file A new file; - is the screen, or the pipe
--password-file - file File that holds the password; - is standard input'
    'output-e2291c' = '--json - - Print JSON: what was exported, and where it is
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-66928d' = '--port - text Port to listen on; 0 picks one
--rate-limits - =rate-limits Rate limits of the API (on)
--allow-private-files - - Fetch files from private addresses too; for development
--allow-html-files - - Store HTML files too, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them
--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here'
    'flags-97132d' = '--follow -f - Go on showing new lines until Ctrl-C
--lines - text How many of the last lines (100)'
    'flags-b0fb9d' = '--forward-to - text Post each event there
--event - ,event+ What to hear; repeatable (''*'')
--email - text Whose account (the local one)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'output-503596' = '--json - - Print a line of JSON for each event, and for each answer
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-5c44b2' = '--yes -y - Don''t ask'
    'flags-52fd7c' = '--rate-limits - =rate-limits Rate limits of the API (on)
--allow-private-files - - Fetch files from private addresses too; for development
--allow-html-files - - Store HTML files too, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them
--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here
--faults - file Let requests fail as the file says'
    'flags-ca0b82' = '--host - text Address to listen on (127.0.0.1)
--port - text Port to listen on (4680); 0 picks one
--data-dir - dir Where everything is kept
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL
--role - =role api takes requests, worker does the work, all does both (all)
--rate-limits - =rate-limits Rate limits of the API (on)
--allow-private-files - - Fetch files from private addresses too; for development
--allow-html-files - - Store HTML files too, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them
--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here
--allowed-host - text+ Host header to answer besides loopback; repeatable
--tls-cert - file Serve https with this certificate and its chain (PEM)
--tls-key - file Its private key (PEM), a file of mode 0600; SIGHUP reads both anew
--trust-proxy - text+ Believe X-Forwarded-* headers of this address or network; repeatable
--allow-local-key - - Take the local account''s key from other machines too
--max-connections - text Connections held open at once (2000)
--max-connections-per-address - text Of them by one address of another machine (200)
--single-use-urls - - A signed URL makes one wallet and no more
--drain - text Go on answering so long after SIGTERM, while /readyz says no (0s)
--log-level - =log-level silent, info or debug
--log-file - file Write the log there instead of to stderr
--config - file Networks by RPC URL (backend.yaml of the data dir)
--faults - file Let requests fail as the file says; for tests of your own'
    'output-822765' = '--json - - Print one line of JSON when it is ready
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-1ca6b6' = '--data-dir - dir Settings, and files where they are kept there
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL
--config - file Database and networks (backend.yaml of the data dir)
--concurrency - text NFTs whose files are fetched at once (16)
--chain - text+ Work on this blockchain and no other; repeatable
--health-port - text Answer /healthz, /readyz and /metrics there; 0 picks one
--host - text Address of that port (127.0.0.1)
--allow-private-files - - Fetch files from private addresses too; for development
--allow-html-files - - Store HTML files too, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them
--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here
--log-level - =log-level silent, info or debug
--log-file - file Write the log there instead of to stderr'
    'output-8e1f1c' = '--json - - Print one line of JSON when it works
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-a2aae6' = '--print - - Print the URL, and open nothing'
    'output-8ff328' = '--json - - Print JSON: the URL; open nothing
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'flags-537d2e' = '--config - file Settings of the backend (backend.yaml of the data dir)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-abf46b' = '--admin-keystore - file Keystore of the factory''s admin
--password-file - file Its password; asked for without
--factory - text A factory of this admin that is there already
--dry-run - - Show what would be sent and what it costs at most; send nothing
--yes -y - Don''t ask before anything is spent
--timeout - text How long to wait for the network (1h)
--config - file Settings of the backend (backend.yaml of the data dir)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-e07f1f' = '--blockchain -b =blockchain Of this blockchain only
--state - =state In this state only: signed, final, reverted, lost, cancelled
--limit - text At most so many (50)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-8464f6' = '--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-ec21f5' = '--yes -y - Don''t ask
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-090c30' = '--all - - Also those that were released
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-c5244e' = '--fail-pending - - Fail the NFTs that wait instead of minting them
--yes -y - Don''t ask
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-8fa255' = '--name - text What the key is for
--email - text Whose account it is for; made if it is new
--permission - ,permission+ What it may do; repeatable
--expires - text 30d, 12h, or the last day (UTC): 2027-01-31 (never)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-83ceaa' = '--event - ,event+ What to tell; repeatable
--email - text Whose account (the local one)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-ffd5af' = '--state - =state-2 In this state only: waiting, delivered, failed
--limit - text At most so many (50)
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-ea88b1' = '--id - text+ These events; repeatable
--since - text All events of this time, delivered or not: 24h
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-771d79' = '--hosted - - A service, at a URL
--local - - The backend that gdn local start runs
--base-url - text Address of the service
--key-file - file File that holds its API key; - is standard input
--store - =store Where to keep the key (the keyring, where one works)
--blockchain -b =blockchain Your usual blockchain
--wallet - @wallets Your usual wallet
--profile - @profiles Name of the profile (default)
--start - - Start the local backend
--no-start - - Don''t start the local backend
--no-check - - Don''t try what was given
--yes -y - Replace a profile of that name'
    'flags-5fd97c' = '--key-file - file File that holds the key; - is standard input
--store - =store Where to keep it (the keyring, where one works)
--no-check - - Don''t try the key before it is saved'
    'flags-6578cb' = '--check - - Try each key at its server; exit 4 if one is refused, 6 if a server is away'
    'flags-1813e5' = '--all - - Forget every saved key'
    'flags-44cedf' = '--profile - @profiles The profile to change
--base-url - text With api_key: the server that the key is for'
    'flags-ac17d9' = '--profile - @profiles The profile to change
--base-url - text With api_key: the server whose key is forgotten'
    'flags-f738c3' = '--profiles - - List the profiles instead; gdn config set profile <name> chooses one'
    'server-b25872' = '--state-dir - dir Where runs and commands are recorded'
    'flags-2cc465' = '--config - file Settings of a backend to look at
--data-dir - dir The backend''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL'
    'flags-e5169d' = '--file -f file JSON of the request; - is standard input
--input ~ file JSON of the request; - is standard input
--field - text+ A member of the request; key[]= adds to a list, key:= takes JSON
--idempotency-key - text Key of a request that creates (a new one)
--dry-run - - Print the request, send nothing
--yes -y - Don''t prompt before spending on a public network'
    'output-1748b8' = '--json - - Print it on one line, on a terminal too
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command'
    'gdn' = '--help -h - Help for the command
--quiet -q - Say nothing but data and errors
--no-input - - Ask nothing
--no-color - - No colors
--debug - - More on stderr: requests, timings, stack traces
--version -V - Print the version
--base-url - text Address of the server
--profile - @profiles Profile of your configuration
--state-dir - dir Where runs and commands are recorded
--output -o =output table, json, ndjson, csv or ids
--fields - text Print these fields only'
    'help' = '--help -h - Help for the command
--quiet -q - Say nothing but data and errors
--no-input - - Ask nothing
--no-color - - No colors
--debug - - More on stderr: requests, timings, stack traces
--version -V - Print the version
--json - - The command tree as JSON'
  }

  $values = @{
    'blockchain' = 'polygon
polygon-mumbai
astar
astar-shiden
astar-shibuya
avalanche
avalanche-fuji
optimism
optimism-goerli
fantom
fantom-testnet
solana
solana-testnet
bnb-mainnet
bnb-testnet'
    'output' = 'table
json
ndjson
csv
ids'
    'unknown-columns' = 'error
attr
extra'
    'format' = 'csv
json
jsonl'
    'status' = 'pending
accepted
deployed
failed
unknown'
    'format-2' = 'keystore
private-key'
    'rate-limits' = 'on
off'
    'event' = 'nft.deployed
nft.failed
collection.deployed
collection.failed
transfer.deployed
transfer.failed
*'
    'role' = 'all
api
worker'
    'log-level' = 'silent
info
debug'
    'state' = 'signed
final
reverted
lost
cancelled'
    'permission' = 'collection:create
nft:create
nft:transfer
nft:read
wallet:create
all'
    'state-2' = 'waiting
delivered
failed'
    'store' = 'keyring
file'
    'name' = 'profile
base_url
blockchain
contract
wallet
rate
storage
storage_endpoint
storage_region
storage_public_url
ipfs_api
email
wallet_url'
    'name-2' = 'profile
api_key
base_url
blockchain
contract
wallet
rate
storage
storage_endpoint
storage_region
storage_public_url
ipfs_api
email
wallet_url'
    'shell' = 'bash
zsh
fish
powershell'
    'endpoint' = 'createnft
transfernft
createnfttrans
getnftgdnids
getnfts
getisgdnnft
createcollection
getpresignedurl
getcollections
gettransactions
getreferences'
  }

  # The flags of a command ('gdn': those that may stand before one): name, short form, what it takes, summary.
  function Get-Flags([string]$name) {
    $ids = if ($bundles.ContainsKey($name)) { $bundles[$name] -split ' ' } else { @($name) }
    foreach ($id in $ids) {
      foreach ($line in ($flags[$id] -split "`n")) { , ($line -split ' ', 4) }
    }
  }

  function Get-Takes([string]$name, $rows) {
    foreach ($row in $rows) {
      if ($row[0] -ceq $name -or $row[1] -ceq $name) { return $row[2].TrimEnd('+') }
    }
    return ''
  }

  function New-Result([string]$value, [string]$shown, [string]$what) {
    $tip = if ($what) { $what } else { $shown }
    # Without quotes, @name would be the items of a variable.
    if ($value.StartsWith('@')) { $value = "'$value'" }
    [System.Management.Automation.CompletionResult]::new($value, $shown, 'ParameterValue', $tip)
  }

  # Lines of values and what each is, where they begin with what is typed; $before stands in the same word already.
  function Get-Values($lines, [string]$separator, [string]$before, [string]$typed) {
    foreach ($line in $lines) {
      $value, $what = $line -split $separator, 2
      if ($value -and $value.StartsWith($typed, [System.StringComparison]::OrdinalIgnoreCase)) {
        New-Result ($before + $value) $value $what
      }
    }
  }

  # What a flag or an argument takes. Where it is a path nothing is returned: PowerShell completes paths by itself.
  function Get-Kind([string]$kind, [string]$before, [string]$typed, $words) {
    if (-not $kind) { return }
    $id = $kind.Substring(1)
    switch ($kind[0]) {
      '@' {
        $gdn = Get-Command gdn -CommandType @('Application', 'ExternalScript') -ErrorAction SilentlyContinue | Select-Object -First 1
        if ($gdn) { Get-Values @(& $gdn __complete $id @words 2>$null) "`t" $before $typed }
      }
      '=' { Get-Values ($values[$id] -split "`n") ' ' $before $typed }
      ',' {
        $end = $typed.LastIndexOf(',') + 1
        Get-Values ($values[$id] -split "`n") ' ' ($before + $typed.Substring(0, $end)) $typed.Substring($end)
      }
    }
  }

  function Get-FlagResults($rows, [string]$typed, $line) {
    foreach ($row in $rows) {
      $name, $short, $takes, $what = $row
      if ($short -eq '~' -or (-not $takes.EndsWith('+') -and $line -ccontains $name)) { continue }
      foreach ($form in @($name, $short)) {
        if ($form -ne '-' -and $form.StartsWith($typed, [System.StringComparison]::Ordinal)) { New-Result $form $form $what }
      }
    }
  }

  $line = @($commandAst.CommandElements | Select-Object -Skip 1 |
      Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) } |
      ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
  $known = @(Get-Flags 'gdn')
  $path = ''
  $wants = ''
  $ended = $false
  $place = 0
  foreach ($word in $line) {
    if ($wants) { $wants = '' }
    elseif ($ended) { $place++ }
    elseif ($word -eq '--') { $ended = $true }
    elseif ($word -like '-*=*') { continue }
    elseif ($word -like '-?*') {
      $wants = Get-Takes $word $known
      if ($wants -eq '-') { $wants = '' }
    }
    elseif ($path -eq 'help' -or $path -like 'help *') { $path += " $word" }
    else {
      $longer = "$path $word".Trim()
      if ($bundles.ContainsKey($longer) -and -not $path.Contains(' ')) {
        $path = $longer
        $known = @(Get-Flags $path)
      }
      elseif (-not $path) {
        $path = $word
        if ($path -eq 'help') { $known = @(Get-Flags 'help') }
      }
      else { $place++ }
    }
  }

  $kind = ''
  if ($arguments.ContainsKey($path)) {
    foreach ($one in ($arguments[$path] -split ' ')) {
      $kind = $one
      if ($place -eq 0 -or $one.EndsWith('+')) { break }
      $place--
      $kind = ''
    }
  }
  $kind = $kind.TrimEnd('+')

  if ($wants) { Get-Kind $wants '' $wordToComplete $line }
  elseif ($ended) { if ($kind -ne 'command') { Get-Kind $kind '' $wordToComplete $line } }
  elseif ($wordToComplete -like '--*=*') {
    $name, $typed = $wordToComplete -split '=', 2
    Get-Kind (Get-Takes $name $known) "$name=" $typed $line
  }
  elseif ($wordToComplete -like '-*') { Get-FlagResults $known $wordToComplete $line }
  else {
    $page = if ($path -like 'help *') { $path.Substring(5) } else { $path }
    if ($words.ContainsKey($page)) { Get-Values ($words[$page] -split "`n") ' ' '' $wordToComplete }
    elseif ($kind -in '', 'text', 'command') { if (-not $wordToComplete) { Get-FlagResults $known '' $line } }
    else { Get-Kind $kind '' $wordToComplete $line }
  }
}
