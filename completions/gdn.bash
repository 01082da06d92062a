# Completions of gdn for bash 3.2 and later; made from its command tree by src/build/completions.mjs.
# Nothing that is typed or found is ever run or expanded: tables, and values that gdn has sanitised.

__gdn_words() {
  case $1 in
    '') REPLY='collection Create, show and list collections
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
help Help for commands, and help topics' ;;
    'collection') REPLY='create Create a collection and wait until it is deployed
show Show collections by ID or contract address
list List the collections created on this machine' ;;
    'nft') REPLY='mint Mint NFTs and wait until they are deployed
grant Mint NFTs to a first owner and transfer them in one step
transfer Transfer an NFT and wait until its owner changes
list List the NFTs of a collection
show Show NFTs by ID
wait Wait until NFTs are deployed
verify Compare an NFT with its chain and storage' ;;
    'batch') REPLY='template Print a sample manifest
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
rm Delete a run and its rows from this machine' ;;
    'wallet') REPLY='generate Generate a wallet and keep its key in an encrypted file
url Print a signed URL that generates a wallet
list List named wallets and addresses
add Name an address
rm Delete the name of a wallet or address
export Export a keystore or its private key' ;;
    'local') REPLY='start Start the local backend
stop Stop the local backend
status Show whether and where the local backend runs
logs Show the log of the local backend
listen Show events of the local backend, and forward them
reset Delete all data of the local backend
exec Run a command against a temporary backend' ;;
    'chain') REPLY='list List the public networks of a backend
setup Deploy the factory and authorize signers on a network
status Show nodes, fees, factory and signers of a network' ;;
    'tx') REPLY='list List the transactions that a backend has signed
show Show a transaction with all its attempts
bump Raise the fees of a pending transaction
cancel Cancel a pending transaction
unknown List mints on chain that a backend does not know
release Let a collection mint again after unknown tokens' ;;
    'key') REPLY='create Create an API key for a backend
list List the API keys of a backend
revoke Revoke an API key of a backend' ;;
    'webhook') REPLY='add Add a webhook for deployment events
list List the webhooks of a backend
show Show a webhook with its failures
rm Delete a webhook
test Send a test event to a webhook
deliveries List a webhook'\''s deliveries and responses
replay Replay the events of a webhook' ;;
    'db') REPLY='export Export the database of a backend to a file
import Import an export into an empty database
migrate Migrate the database to the schema of this version
status Show the database of a backend and its migrations' ;;
    'auth') REPLY='login Save the API key of a server
status Show saved API keys and where they are stored
logout Delete the saved API key of a server' ;;
    'config') REPLY='get Print one setting
set Save a setting in a profile
unset Remove a setting from a profile
list List the configuration in effect and its sources
path Print the paths of configuration and state' ;;
    'help') REPLY='environment Environment variables, and which setting takes precedence
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
api Call an API endpoint and print the raw response' ;;
    *) REPLY='' ;;
  esac
}

__gdn_arguments() {
  case $1 in
    'collection show') REPLY='@collections+' ;;
    'nft transfer') REPLY='text' ;;
    'nft show') REPLY='text+' ;;
    'nft wait') REPLY='text+' ;;
    'nft verify') REPLY='text' ;;
    'batch validate') REPLY='file' ;;
    'batch preview') REPLY='file' ;;
    'batch mint') REPLY='file' ;;
    'batch status') REPLY='@runs' ;;
    'batch resume') REPLY='@runs' ;;
    'batch retry') REPLY='@runs' ;;
    'batch reconcile') REPLY='@runs' ;;
    'batch results') REPLY='@runs' ;;
    'batch report') REPLY='@runs' ;;
    'batch rm') REPLY='@runs' ;;
    'wallet add') REPLY='text text' ;;
    'wallet rm') REPLY='@wallets' ;;
    'wallet export') REPLY='@wallets' ;;
    'local exec') REPLY='command+' ;;
    'open') REPLY='@runs' ;;
    'chain setup') REPLY='=blockchain' ;;
    'chain status') REPLY='=blockchain' ;;
    'tx show') REPLY='text' ;;
    'tx bump') REPLY='text' ;;
    'tx cancel') REPLY='text' ;;
    'tx release') REPLY='text' ;;
    'key revoke') REPLY='text' ;;
    'webhook add') REPLY='text' ;;
    'webhook show') REPLY='text' ;;
    'webhook rm') REPLY='text' ;;
    'webhook test') REPLY='text' ;;
    'webhook deliveries') REPLY='text' ;;
    'webhook replay') REPLY='text' ;;
    'db export') REPLY='file' ;;
    'db import') REPLY='file' ;;
    'config get') REPLY='=name' ;;
    'config set') REPLY='=name-2 text' ;;
    'config unset') REPLY='=name-2' ;;
    'completion') REPLY='=shell' ;;
    'api') REPLY='=endpoint' ;;
    *) REPLY='' ;;
  esac
}

__gdn_bundles() {
  case $1 in
    'collection create') REPLY='flags-4b9b53 sending-and-waiting-606508 server-367f30 output-54fd8b' ;;
    'collection show') REPLY='flags-883978 server-367f30 output-54fd8b' ;;
    'collection list') REPLY='server-367f30 output-54fd8b' ;;
    'nft mint') REPLY='flags-febba6 metadata-849690 sending-and-waiting-606508 of-manifests-eabf75 server-367f30 output-54fd8b' ;;
    'nft grant') REPLY='flags-362a90 metadata-849690 sending-and-waiting-606508 server-367f30 output-54fd8b' ;;
    'nft transfer') REPLY='flags-5107d6 sending-and-waiting-996db4 server-367f30 output-54fd8b' ;;
    'nft list') REPLY='flags-0543c8 server-367f30 output-54fd8b' ;;
    'nft show') REPLY='flags-11e5bb server-367f30 output-54fd8b' ;;
    'nft wait') REPLY='sending-and-waiting-9d182f server-367f30 output-54fd8b' ;;
    'nft verify') REPLY='flags-bfed4b verifying-c48997 server-367f30 output-54fd8b' ;;
    'batch template') REPLY='flags-d37262 output-faa6fe' ;;
    'batch validate') REPLY='flags-984c93 server-367f30 output-54fd8b' ;;
    'batch preview') REPLY='flags-b0f6cf server-367f30 output-54fd8b' ;;
    'batch mint') REPLY='flags-9135eb the-run-bccddd sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b' ;;
    'batch list') REPLY='flags-1d15ba server-367f30 output-54fd8b' ;;
    'batch status') REPLY='server-367f30 output-54fd8b' ;;
    'batch resume') REPLY='flags-fd9bb3 the-run-0963b3 sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b' ;;
    'batch retry') REPLY='flags-54933a the-run-0963b3 sending-and-waiting-30710e verifying-9423cd server-367f30 output-54fd8b' ;;
    'batch reconcile') REPLY='flags-b82660 the-run-bc8413 sending-and-waiting-9d182f verifying-9423cd server-367f30 output-54fd8b' ;;
    'batch results') REPLY='flags-e5460a verifying-9423cd server-367f30 output-54fd8b' ;;
    'batch report') REPLY='flags-fb8276 server-367f30 output-54fd8b' ;;
    'batch rm') REPLY='flags-2be4da server-367f30 output-54fd8b' ;;
    'wallet generate') REPLY='flags-03ac05 server-367f30 output-54fd8b' ;;
    'wallet url') REPLY='flags-ff2a9d server-367f30 output-54fd8b' ;;
    'wallet list') REPLY='output-54fd8b' ;;
    'wallet add') REPLY='output-54fd8b' ;;
    'wallet rm') REPLY='output-54fd8b' ;;
    'wallet export') REPLY='flags-3a0908 output-e2291c' ;;
    'local start') REPLY='flags-66928d output-54fd8b' ;;
    'local stop') REPLY='output-54fd8b' ;;
    'local status') REPLY='output-54fd8b' ;;
    'local logs') REPLY='flags-97132d output-faa6fe' ;;
    'local listen') REPLY='flags-b0fb9d output-503596' ;;
    'local reset') REPLY='flags-5c44b2 output-54fd8b' ;;
    'local exec') REPLY='flags-52fd7c output-faa6fe' ;;
    'serve') REPLY='flags-ca0b82 output-822765' ;;
    'worker') REPLY='flags-1ca6b6 output-8e1f1c' ;;
    'open') REPLY='flags-a2aae6 server-367f30 output-8ff328' ;;
    'chain list') REPLY='flags-537d2e output-54fd8b' ;;
    'chain setup') REPLY='flags-abf46b output-54fd8b' ;;
    'chain status') REPLY='flags-537d2e output-54fd8b' ;;
    'tx list') REPLY='flags-e07f1f output-54fd8b' ;;
    'tx show') REPLY='flags-8464f6 output-54fd8b' ;;
    'tx bump') REPLY='flags-8464f6 output-54fd8b' ;;
    'tx cancel') REPLY='flags-ec21f5 output-54fd8b' ;;
    'tx unknown') REPLY='flags-090c30 output-54fd8b' ;;
    'tx release') REPLY='flags-c5244e output-54fd8b' ;;
    'key create') REPLY='flags-8fa255 output-54fd8b' ;;
    'key list') REPLY='flags-8464f6 output-54fd8b' ;;
    'key revoke') REPLY='flags-8464f6 output-54fd8b' ;;
    'webhook add') REPLY='flags-83ceaa output-54fd8b' ;;
    'webhook list') REPLY='flags-8464f6 output-54fd8b' ;;
    'webhook show') REPLY='flags-8464f6 output-54fd8b' ;;
    'webhook rm') REPLY='flags-8464f6 output-54fd8b' ;;
    'webhook test') REPLY='flags-8464f6 output-54fd8b' ;;
    'webhook deliveries') REPLY='flags-ffd5af output-54fd8b' ;;
    'webhook replay') REPLY='flags-ea88b1 output-54fd8b' ;;
    'db export') REPLY='flags-537d2e output-54fd8b' ;;
    'db import') REPLY='flags-537d2e output-54fd8b' ;;
    'db migrate') REPLY='flags-537d2e output-54fd8b' ;;
    'db status') REPLY='flags-537d2e output-54fd8b' ;;
    'init') REPLY='flags-771d79 output-54fd8b' ;;
    'auth login') REPLY='flags-5fd97c server-367f30 output-54fd8b' ;;
    'auth status') REPLY='flags-6578cb server-367f30 output-54fd8b' ;;
    'auth logout') REPLY='flags-1813e5 server-367f30 output-54fd8b' ;;
    'config get') REPLY='server-367f30 output-54fd8b' ;;
    'config set') REPLY='flags-44cedf output-54fd8b' ;;
    'config unset') REPLY='flags-ac17d9 output-54fd8b' ;;
    'config list') REPLY='flags-f738c3 server-367f30 output-54fd8b' ;;
    'config path') REPLY='server-b25872 output-54fd8b' ;;
    'doctor') REPLY='server-367f30 flags-2cc465 output-54fd8b' ;;
    'completion') REPLY='output-faa6fe' ;;
    'api') REPLY='flags-e5169d output-1748b8 server-367f30' ;;
    *) REPLY='' ;;
  esac
}

__gdn_flags() {
  case $1 in
    'flags-4b9b53') REPLY='--name - text Name of the collection
--blockchain -b =blockchain Blockchain it is made on
--wallet - @wallets Wallet that owns it: an address, or @name
--wallet-address ~ @wallets Wallet that owns it: an address, or @name
--description - text Description (needed on Solana)
--image - text Image (needed on Solana)
--enable-transfer - - Let the API transfer its NFTs
--no-enable-transfer - - Don'\''t let the API transfer its NFTs (the default; a terminal asks)
--enable-api - - Let the API mint in it (the default)
--no-enable-api - - Don'\''t let the API mint in it
--locked - - Its NFTs can never be transferred
--is-locked ~ - Its NFTs can never be transferred
--file -f file JSON request; - is standard input. Flags win over it' ;;
    'sending-and-waiting-606508') REPLY='--wait - - Wait until it is deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long to wait after acceptance (5m)
--dry-run - - Print the request, send nothing
--yes -y - Don'\''t prompt before spending on a public network
--again - - Send another request, whatever the outcome of an earlier one
--operation - text Repeat the operation with this UUID, or give a new one this ID' ;;
    'server-367f30') REPLY='--local - - The backend that gdn local start runs
--base-url - text Address of the server
--profile - @profiles Profile of your configuration
--state-dir - dir Where runs and commands are recorded' ;;
    'output-54fd8b') REPLY='--output -o =output table, json, ndjson, csv or ids
--json - - Same as --output json
--fields - text Print these fields only
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-883978') REPLY='--blockchain -b =blockchain Blockchain of the collections' ;;
    'flags-febba6') REPLY='--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--receiver - @wallets Wallet that gets the NFT: an address, or @name
--receiver-wallet-address ~ @wallets Wallet that gets the NFT: an address, or @name
--file -f file JSON request or manifest; - is standard input' ;;
    'metadata-849690') REPLY='--title - text Title
--description - text Description
--image - file Same as --media image=…
--media - pairfile+ A file of it; repeatable
--extra - text+ An extra key; repeatable
--attr - text+ An attribute; repeatable' ;;
    'of-manifests-eabf75') REPLY='--run - @run-names Name of the run
--chunk-size - text NFTs to a request (50)
--rate - text Requests a second
--in-order - - Keep the manifest'\''s order of rows
--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)' ;;
    'flags-362a90') REPLY='--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--sender - @wallets First owner: an address, or @name (your profile'\''s wallet)
--sender-wallet-address ~ @wallets First owner: an address, or @name (your profile'\''s wallet)
--receiver - @wallets Wallet that gets the NFT: an address, or @name
--receiver-wallet-address ~ @wallets Wallet that gets the NFT: an address, or @name
--file -f file JSON request; - is standard input. Flags win over it' ;;
    'flags-5107d6') REPLY='--receiver - @wallets New owner: an address, or @name
--receiver-wallet-address ~ @wallets New owner: an address, or @name
--sender - @wallets Present owner
--sender-wallet-address ~ @wallets Present owner
--token-id - text Its token id
--tokenid ~ text Its token id
--contract -c @collections Its collection
--contract-address ~ @collections Its collection
--contract-addresses ~ @collections Its collection
--blockchain -b =blockchain Its blockchain
--file -f file JSON request; - is standard input. Flags win over it' ;;
    'sending-and-waiting-996db4') REPLY='--wait - - Wait until its owner changed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long to wait after acceptance (5m)
--dry-run - - Print the request, send nothing
--yes -y - Don'\''t prompt before spending on a public network
--again - - Send another request, whatever the outcome of an earlier one
--operation - text Repeat the operation with this UUID, or give a new one this ID' ;;
    'flags-0543c8') REPLY='--contract -c @collections The collection
--contract-address ~ @collections The collection
--contract-addresses ~ @collections The collection
--blockchain -b =blockchain Its blockchain
--limit - text List the first n NFTs only' ;;
    'flags-11e5bb') REPLY='--no-image - - Draw no picture
--gateway - text IPFS gateway to take the picture from; without it, a gdn backend'\''s own' ;;
    'sending-and-waiting-9d182f') REPLY='--timeout - text How long to wait (5m)' ;;
    'flags-bfed4b') REPLY='--receiver - @wallets Its owner; --owner means the same
--owner ~ @wallets Its owner; --owner means the same
--receiver-wallet-address ~ @wallets Its owner; --owner means the same
--blockchain -b =blockchain Its blockchain' ;;
    'verifying-c48997') REPLY='--on-chain - - Read owner, token URI and metadata from chain and storage too
--rpc-url - text JSON-RPC of the chain (GDN_RPC_URL); without it, the server'\''s own
--gateway - text IPFS gateway; without it, the server'\''s own' ;;
    'flags-d37262') REPLY='--format - =format csv, json, jsonl (csv)
--blockchain -b =blockchain Blockchain of the collection (polygon)
--receiver - @wallets Receiver of its rows' ;;
    'output-faa6fe') REPLY='--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-984c93') REPLY='--contract -c @collections Collection to mint in
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
--preview - - Draw the pictures of the first rows; on a terminal only' ;;
    'flags-b0f6cf') REPLY='--to - file The file to write (<manifest>-preview.html)
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
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)' ;;
    'flags-9135eb') REPLY='--contract -c @collections Collection to mint in
--contract-address ~ @collections Collection to mint in
--contract-addresses ~ @collections Collection to mint in
--blockchain -b =blockchain Its blockchain
--receiver - @wallets Wallet of rows that name none
--receiver-wallet-address ~ @wallets Wallet of rows that name none
--sender - @wallets First owner of rows that name none
--sender-wallet-address ~ @wallets First owner of rows that name none
--map - text+ Read a column as another, such as Mood=attr:Mood; repeatable
--unknown-columns - =unknown-columns Read unknown columns as attr, extra or error (error)
--check-files - - Ask for every file URL first, a few at a time' ;;
    'the-run-bccddd') REPLY='--run - @run-names Name of the run; without it, the path of the manifest
--again - - Mint a second drop: of a finished run, or of rows accepted in another run
--new-rows - - Mint new rows though sent rows are not in the manifest anymore
--adopt - - Take rows that are in the collection already as minted by this run
--no-lookup - - Don'\''t look into the collection before rows are sent; with --dry-run, don'\''t ask the server
--marker-key - text Give each row a value of its own under this key of its metadata, to find it by; it becomes public
--chunk-size - text NFTs to a request (50)
--rate - text Requests a second
--upload-concurrency - text Local files uploaded at a time (8)
--listing-wait - text How long the collection'\''s list is given to catch up before its word is taken (30s, more where it lags)
--in-order - - Keep the manifest'\''s order of rows' ;;
    'sending-and-waiting-30710e') REPLY='--wait - - Wait until all are deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long to wait after acceptance (5m)
--dry-run - - Print the request, send nothing
--yes -y - Don'\''t prompt before spending on a public network' ;;
    'verifying-9423cd') REPLY='--verify - - Compare owner, token URI and metadata with chain and storage themselves; exit code 5 where something differs
--rpc-url - text JSON-RPC of the chain (GDN_RPC_URL); without it, the server'\''s own
--gateway - text IPFS gateway; without it, the server'\''s own' ;;
    'flags-1d15ba') REPLY='--all - - Include single commands: each is a run of one' ;;
    'flags-fd9bb3') REPLY='--retry-failed - - Send rows again that were refused or whose NFT failed' ;;
    'the-run-0963b3') REPLY='--chunk-size - text NFTs to a request (50)
--rate - text Requests a second
--upload-concurrency - text Local files uploaded at a time (8)
--listing-wait - text How long the collection'\''s list is given to catch up before its word is taken (30s, more where it lags)' ;;
    'flags-54933a') REPLY='--absent - - Rows of unknown outcome that reconciling found absent, not those that failed' ;;
    'flags-b82660') REPLY='--row - text+ Say what a row became: the id of its NFT, or absent; several times' ;;
    'the-run-bc8413') REPLY='--rate - text Requests a second
--upload-concurrency - text Local files uploaded at a time (8)
--listing-wait - text How long the collection'\''s list is given to catch up before its word is taken (30s, more where it lags)' ;;
    'flags-e5460a') REPLY='--status - ,status Only rows in these states: pending, accepted, deployed, failed, unknown
--for-spreadsheet - - Put a '\'' before what a spreadsheet would run: cells that begin with = + - @ or a tab, also after spaces and quotes' ;;
    'flags-fb8276') REPLY='--to - file The file to write (<run>-report.html)
--force - - Write it in place of a file of that name
--open - - Open it in the browser
--gateway - text IPFS gateway that pictures come from and links lead to; without it, the server'\''s own' ;;
    'flags-2be4da') REPLY='--finished - - All finished runs; of a server named by a flag, only its own
--yes -y - Remove without a prompt' ;;
    'flags-03ac05') REPLY='--name - text Its name here; without it wallet-1, wallet-2, …
--count - text So many wallets, named <name>-1, <name>-2, …
--password-file - file File that holds the password; - is standard input
--weak-password - - Accept a password of fewer than 8 characters, for tests
--show-private-key - - Print the private key too
--email - text E-mail address of the account (your profile'\''s email)
--valid-for - text How long the signed URL can be used: 15m, 24h, at most 7d' ;;
    'flags-ff2a9d') REPLY='--email - text E-mail address of the account (your profile'\''s email)
--valid-for - text How long the signed URL can be used: 15m, 24h, at most 7d' ;;
    'flags-3a0908') REPLY='--format - =format-2 keystore (as it is kept) or private-key
--to - file A new file; - is the screen, or the pipe
--password-file - file File that holds the password; - is standard input' ;;
    'output-e2291c') REPLY='--json - - Print JSON: what was exported, and where it is
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-66928d') REPLY='--port - text Port to listen on; 0 picks one
--rate-limits - =rate-limits Rate limits of the API (on)
--allow-private-files - - Fetch files from private addresses too; for development
--allow-html-files - - Store HTML files too, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them
--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here' ;;
    'flags-97132d') REPLY='--follow -f - Go on showing new lines until Ctrl-C
--lines - text How many of the last lines (100)' ;;
    'flags-b0fb9d') REPLY='--forward-to - text Post each event there
--event - ,event+ What to hear; repeatable ('\''*'\'')
--email - text Whose account (the local one)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'output-503596') REPLY='--json - - Print a line of JSON for each event, and for each answer
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-5c44b2') REPLY='--yes -y - Don'\''t ask' ;;
    'flags-52fd7c') REPLY='--rate-limits - =rate-limits Rate limits of the API (on)
--allow-private-files - - Fetch files from private addresses too; for development
--allow-html-files - - Store HTML files too, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// URLs from this trustless gateway, check and store them
--require-stored-files - - Mint no NFT with an ipfs:// or ar:// file that is not stored here
--faults - file Let requests fail as the file says' ;;
    'flags-ca0b82') REPLY='--host - text Address to listen on (127.0.0.1)
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
--allow-local-key - - Take the local account'\''s key from other machines too
--max-connections - text Connections held open at once (2000)
--max-connections-per-address - text Of them by one address of another machine (200)
--single-use-urls - - A signed URL makes one wallet and no more
--drain - text Go on answering so long after SIGTERM, while /readyz says no (0s)
--log-level - =log-level silent, info or debug
--log-file - file Write the log there instead of to stderr
--config - file Networks by RPC URL (backend.yaml of the data dir)
--faults - file Let requests fail as the file says; for tests of your own' ;;
    'output-822765') REPLY='--json - - Print one line of JSON when it is ready
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-1ca6b6') REPLY='--data-dir - dir Settings, and files where they are kept there
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
--log-file - file Write the log there instead of to stderr' ;;
    'output-8e1f1c') REPLY='--json - - Print one line of JSON when it works
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-a2aae6') REPLY='--print - - Print the URL, and open nothing' ;;
    'output-8ff328') REPLY='--json - - Print JSON: the URL; open nothing
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'flags-537d2e') REPLY='--config - file Settings of the backend (backend.yaml of the data dir)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-abf46b') REPLY='--admin-keystore - file Keystore of the factory'\''s admin
--password-file - file Its password; asked for without
--factory - text A factory of this admin that is there already
--dry-run - - Show what would be sent and what it costs at most; send nothing
--yes -y - Don'\''t ask before anything is spent
--timeout - text How long to wait for the network (1h)
--config - file Settings of the backend (backend.yaml of the data dir)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-e07f1f') REPLY='--blockchain -b =blockchain Of this blockchain only
--state - =state In this state only: signed, final, reverted, lost, cancelled
--limit - text At most so many (50)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-8464f6') REPLY='--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-ec21f5') REPLY='--yes -y - Don'\''t ask
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-090c30') REPLY='--all - - Also those that were released
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-c5244e') REPLY='--fail-pending - - Fail the NFTs that wait instead of minting them
--yes -y - Don'\''t ask
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-8fa255') REPLY='--name - text What the key is for
--email - text Whose account it is for; made if it is new
--permission - ,permission+ What it may do; repeatable
--expires - text 30d, 12h, or the last day (UTC): 2027-01-31 (never)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-83ceaa') REPLY='--event - ,event+ What to tell; repeatable
--email - text Whose account (the local one)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-ffd5af') REPLY='--state - =state-2 In this state only: waiting, delivered, failed
--limit - text At most so many (50)
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-ea88b1') REPLY='--id - text+ These events; repeatable
--since - text All events of this time, delivered or not: 24h
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-771d79') REPLY='--hosted - - A service, at a URL
--local - - The backend that gdn local start runs
--base-url - text Address of the service
--key-file - file File that holds its API key; - is standard input
--store - =store Where to keep the key (the keyring, where one works)
--blockchain -b =blockchain Your usual blockchain
--wallet - @wallets Your usual wallet
--profile - @profiles Name of the profile (default)
--start - - Start the local backend
--no-start - - Don'\''t start the local backend
--no-check - - Don'\''t try what was given
--yes -y - Replace a profile of that name' ;;
    'flags-5fd97c') REPLY='--key-file - file File that holds the key; - is standard input
--store - =store Where to keep it (the keyring, where one works)
--no-check - - Don'\''t try the key before it is saved' ;;
    'flags-6578cb') REPLY='--check - - Try each key at its server; exit 4 if one is refused, 6 if a server is away' ;;
    'flags-1813e5') REPLY='--all - - Forget every saved key' ;;
    'flags-44cedf') REPLY='--profile - @profiles The profile to change
--base-url - text With api_key: the server that the key is for' ;;
    'flags-ac17d9') REPLY='--profile - @profiles The profile to change
--base-url - text With api_key: the server whose key is forgotten' ;;
    'flags-f738c3') REPLY='--profiles - - List the profiles instead; gdn config set profile <name> chooses one' ;;
    'server-b25872') REPLY='--state-dir - dir Where runs and commands are recorded' ;;
    'flags-2cc465') REPLY='--config - file Settings of a backend to look at
--data-dir - dir The backend'\''s data dir (that of gdn local start)
--database-url - text Its PostgreSQL; with a password better GDN_DATABASE_URL' ;;
    'flags-e5169d') REPLY='--file -f file JSON of the request; - is standard input
--input ~ file JSON of the request; - is standard input
--field - text+ A member of the request; key[]= adds to a list, key:= takes JSON
--idempotency-key - text Key of a request that creates (a new one)
--dry-run - - Print the request, send nothing
--yes -y - Don'\''t prompt before spending on a public network' ;;
    'output-1748b8') REPLY='--json - - Print it on one line, on a terminal too
--quiet -q - Say nothing but data and errors
--no-color - - No colors
--no-input - - Ask nothing
--debug - - More on stderr: requests, timings, stack traces
--help -h - Help for this command' ;;
    'gdn') REPLY='--help -h - Help for the command
--quiet -q - Say nothing but data and errors
--no-input - - Ask nothing
--no-color - - No colors
--debug - - More on stderr: requests, timings, stack traces
--version -V - Print the version
--base-url - text Address of the server
--profile - @profiles Profile of your configuration
--state-dir - dir Where runs and commands are recorded
--output -o =output table, json, ndjson, csv or ids
--fields - text Print these fields only' ;;
    'help') REPLY='--help -h - Help for the command
--quiet -q - Say nothing but data and errors
--no-input - - Ask nothing
--no-color - - No colors
--debug - - More on stderr: requests, timings, stack traces
--version -V - Print the version
--json - - The command tree as JSON' ;;
    *) REPLY='' ;;
  esac
}

__gdn_values() {
  case $1 in
    'blockchain') REPLY='polygon
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
bnb-testnet' ;;
    'output') REPLY='table
json
ndjson
csv
ids' ;;
    'unknown-columns') REPLY='error
attr
extra' ;;
    'format') REPLY='csv
json
jsonl' ;;
    'status') REPLY='pending
accepted
deployed
failed
unknown' ;;
    'format-2') REPLY='keystore
private-key' ;;
    'rate-limits') REPLY='on
off' ;;
    'event') REPLY='nft.deployed
nft.failed
collection.deployed
collection.failed
transfer.deployed
transfer.failed
*' ;;
    'role') REPLY='all
api
worker' ;;
    'log-level') REPLY='silent
info
debug' ;;
    'state') REPLY='signed
final
reverted
lost
cancelled' ;;
    'permission') REPLY='collection:create
nft:create
nft:transfer
nft:read
wallet:create
all' ;;
    'state-2') REPLY='waiting
delivered
failed' ;;
    'store') REPLY='keyring
file' ;;
    'name') REPLY='profile
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
wallet_url' ;;
    'name-2') REPLY='profile
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
wallet_url' ;;
    'shell') REPLY='bash
zsh
fish
powershell' ;;
    'endpoint') REPLY='createnft
transfernft
createnfttrans
getnftgdnids
getnfts
getisgdnnft
createcollection
getpresignedurl
getcollections
gettransactions
getreferences' ;;
    *) REPLY='' ;;
  esac
}

# The flags of a command ("gdn": those that may stand before one): a line each.
__gdn_flags_of() {
  local bundle lines=''
  __gdn_bundles "$1"
  for bundle in ${REPLY:-$1}; do
    __gdn_flags "$bundle"
    lines+=$REPLY$'\n'
  done
  REPLY=$lines
}

# What the flag $2 takes, by the lines $1; nothing for a flag that isn't known.
__gdn_takes() {
  local name short takes rest
  while read -r name short takes rest; do
    if [[ $2 == "$name" || $2 == "$short" ]]; then
      REPLY=${takes%+}
      return
    fi
  done <<<"$1"
  REPLY=''
}

# Offers a value ($1), which is $2, where it begins with what is typed.
__gdn_offer() {
  [[ $1 == "$__gdn_typed"* ]] || return
  __gdn_values_found+=("$1")
  __gdn_whats_found+=("$2")
}

__gdn_offer_lines() {
  local value what
  while read -r value what; do
    if [[ -n $value ]]; then __gdn_offer "$__gdn_before$value" "$what"; fi
  done <<<"$1"
}

__gdn_offer_flags() {
  local name short takes what
  while read -r name short takes what; do
    [[ -z $name || $short == '~' ]] && continue
    if [[ $takes != *+ && " ${__gdn_line[*]-} " == *" $name "* ]]; then continue; fi
    __gdn_offer "$name" "$what"
    if [[ $short != - ]]; then __gdn_offer "$short" "$what"; fi
  done <<<"$1"
}

__gdn_offer_paths() {
  if type compopt >/dev/null 2>&1; then
    compopt -o "$1" 2>/dev/null
    return
  fi
  local path action=-f
  if [[ $1 == dirnames ]]; then action=-d; fi
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$action" -- "${__gdn_typed#"$__gdn_before"}")
}

# Offers what a flag or an argument takes. $__gdn_before: what stands in the same word already, such as --file=
__gdn_offer_kind() {
  case $1 in
    @*)
      __gdn_offer_lines "$(command gdn __complete "${1#@}" ${__gdn_line[@]+"${__gdn_line[@]}"} 2>/dev/null | tr '\t' ' ')"
      ;;
    =*)
      __gdn_values "${1#=}"
      __gdn_offer_lines "$REPLY"
      ;;
    ,*)
      local own=${__gdn_typed#"$__gdn_before"}
      if [[ $own == *,* ]]; then __gdn_before+=${own%,*},; fi
      __gdn_values "${1#,}"
      __gdn_offer_lines "$REPLY"
      ;;
    file) __gdn_offer_paths default ;;
    dir) __gdn_offer_paths dirnames ;;
    pairfile)
      if [[ $__gdn_typed == *=* ]]; then __gdn_offer_paths default; fi
      ;;
  esac
}

_gdn() {
  local IFS=$' \t\n' REPLY word flags last kind path='' wants='' ended='' place=0 i
  local __gdn_typed='' __gdn_before=''
  local -a __gdn_line __gdn_values_found __gdn_whats_found
  COMPREPLY=()

  # bash breaks words at =, : and @ as well: what no space parts on the line is put together again.
  local rest=$COMP_LINE gap
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    rest=${rest#"$word"}
    last=${#__gdn_line[@]}
    if [[ $i -eq 0 ]]; then
      continue
    elif [[ $last -gt 0 && ! $gap ]]; then
      __gdn_line[last - 1]+=$word
    else
      __gdn_line+=("$word")
    fi
  done
  last=$((${#__gdn_line[@]} - 1))
  __gdn_typed=${__gdn_line[last]}
  unset '__gdn_line[last]'

  __gdn_flags_of gdn
  flags=$REPLY
  for ((i = 0; i < last; i++)); do
    word=${__gdn_line[i]}
    if [[ $wants ]]; then
      wants=''
    elif [[ $ended ]]; then
      place=$((place + 1))
    elif [[ $word == -- ]]; then
      ended=$((i + 1))
    elif [[ $word == -*=* ]]; then
      continue
    elif [[ $word == -* && $word != - ]]; then
      __gdn_takes "$flags" "$word"
      if [[ $REPLY != - ]]; then wants=$REPLY; fi
    elif [[ $path == help* ]]; then
      path+=" $word"
    else
      __gdn_bundles "${path:+$path }$word"
      if [[ $REPLY && $path != *' '* ]]; then
        path=${path:+$path }$word
        __gdn_flags_of "$path"
        flags=$REPLY
      elif [[ -z $path ]]; then
        path=$word
        if [[ $path == help ]]; then
          __gdn_flags_of help
          flags=$REPLY
        fi
      else
        place=$((place + 1))
      fi
    fi
  done

  __gdn_arguments "$path"
  kind=''
  for word in $REPLY; do
    kind=$word
    if [[ $place -eq 0 || $word == *+ ]]; then break; fi
    place=$((place - 1))
    kind=''
  done
  kind=${kind%+}

  if [[ $wants ]]; then
    __gdn_offer_kind "$wants"
  elif [[ $ended ]]; then
    if [[ $kind == command ]]; then
      if [[ $last -eq $ended ]]; then
        __gdn_offer_lines "$(compgen -c -- "$__gdn_typed")"
      else
        __gdn_offer_paths default
      fi
    else
      __gdn_offer_kind "$kind"
    fi
  elif [[ $__gdn_typed == --*=* ]]; then
    __gdn_takes "$flags" "${__gdn_typed%%=*}"
    __gdn_before=${__gdn_typed%%=*}=
    __gdn_offer_kind "$REPLY"
  elif [[ $__gdn_typed == -* ]]; then
    __gdn_offer_flags "$flags"
  else
    __gdn_words "$path"
    if [[ $path == 'help '* ]]; then __gdn_words "${path#help }"; fi
    __gdn_offer_lines "$REPLY"
    if [[ $kind != command ]]; then __gdn_offer_kind "$kind"; fi
    if [[ ${#__gdn_values_found[@]} -eq 0 && ($kind == '' || $kind == text) ]]; then __gdn_offer_flags "$flags"; fi
  fi

  # What bash does not replace, because it took it for a word of its own, is not repeated; an @ at the beginning is.
  local skip=${__gdn_typed%"${__gdn_typed##*[=:]}"}
  if [[ $skip && $COMP_WORDBREAKS != *"${skip: -1}"* ]]; then skip=''; fi
  local value what width=0 shown
  for value in ${__gdn_values_found[@]+"${__gdn_values_found[@]}"}; do
    if [[ ${#value} -gt $width ]]; then width=${#value}; fi
  done
  for ((i = 0; i < ${#__gdn_values_found[@]}; i++)); do
    value=${__gdn_values_found[i]#"$skip"}
    what=${__gdn_whats_found[i]}
    # Only where a list is shown, and nothing is inserted.
    if [[ ${COMP_TYPE-} == 63 && $what && ${#__gdn_values_found[@]} -gt 1 ]]; then
      printf -v shown '%-*s  %s' "$width" "$value" "$what"
      COMPREPLY+=("${shown:0:${COLUMNS:-80}-1}")
    else
      COMPREPLY+=("$value")
    fi
  done
}

complete -F _gdn gdn
