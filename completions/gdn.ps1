# Completions of gdn for PowerShell 5.1 and later; made from its command tree by src/build/completions.mjs.
# Nothing that is typed or found is ever run or expanded: tables, and values that gdn has sanitised.

Register-ArgumentCompleter -Native -CommandName gdn -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  $words = @{
    '' = 'collection Create, show, change and list collections
nft Mint, transfer, update, burn, list and verify NFTs
batch Mint drops from CSV, JSON or JSONL manifests
plan Compare a manifest with the NFTs that exist
apply Make the changes of a plan or manifest
reveal Reveal NFTs that were minted unrevealed
cost Estimate what a drop costs on a network
wallet Generate, import, name and export wallets
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
schema Print the JSON Schema of a file
mcp Serve the commands to coding agents as MCP tools
help Help for commands, and help topics'
    'collection' = 'create Create a collection and wait until it is deployed
show Show collections by ID or contract address
set Change royalties, metadata, permissions or owner
list List the collections created on this machine'
    'nft' = 'mint Mint NFTs and wait until they are deployed
grant Mint NFTs to a first owner and transfer them in one step
transfer Transfer an NFT and wait until its owner changes
list List the NFTs of a collection
show Show NFTs by ID
wait Wait until NFTs are deployed
update Change the metadata of a dynamic NFT
freeze Make the metadata of NFTs final
burn Burn NFTs
history Show the history of an NFT
verify Compare an NFT with its chain and storage'
    'batch' = 'template Print a sample manifest
validate Validate a manifest without sending anything
preview Write an HTML preview of a manifest
rehearse Mint a manifest on a copy of its network
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
import Import a key into an encrypted file
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
status Show nodes, fees, factory and signers of a network
verify Publish the sources of the contracts on a network'
    'tx' = 'list List the transactions that a backend has signed
show Show a transaction with all its attempts
bump Raise the fees of a pending transaction
cancel Cancel a pending transaction
unknown List on-chain mints that are unknown to a backend
release Let a collection mint again after unknown tokens'
    'key' = 'create Create an API key for a backend
list List the API keys of a backend
revoke Revoke an API key of a backend'
    'webhook' = 'add Add a webhook for deployment events
list List the webhooks of a backend
show Show a webhook with its failures
update Change the URL or events of a webhook
rm Delete a webhook
test Send a test event to a webhook
trigger Send a test event of any type to a webhook
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
    'help' = 'environment Configuration files and environment variables
exit-codes Exit codes and error codes
manifest Columns, formats and limits of a manifest
output Output formats, fields, colors and images
blockchains Supported blockchains and their features
security How keys and wallets are protected
collection Create, show, change and list collections
nft Mint, transfer, update, burn, list and verify NFTs
batch Mint drops from CSV, JSON or JSONL manifests
plan Compare a manifest with the NFTs that exist
apply Make the changes of a plan or manifest
reveal Reveal NFTs that were minted unrevealed
cost Estimate what a drop costs on a network
wallet Generate, import, name and export wallets
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
schema Print the JSON Schema of a file
mcp Serve the commands to coding agents as MCP tools'
  }

  $arguments = @{
    'collection show' = '@collections+'
    'collection set' = 'text'
    'nft transfer' = 'text'
    'nft show' = 'text+'
    'nft wait' = 'text+'
    'nft update' = 'text'
    'nft freeze' = 'text+'
    'nft burn' = 'text+'
    'nft history' = 'text'
    'nft verify' = 'text'
    'batch validate' = 'file'
    'batch preview' = 'file'
    'batch rehearse' = 'file'
    'batch mint' = 'file'
    'batch status' = '@runs'
    'batch resume' = '@runs'
    'batch retry' = '@runs'
    'batch reconcile' = '@runs'
    'batch results' = '@runs'
    'batch report' = '@runs'
    'batch rm' = '@runs'
    'plan' = 'file'
    'apply' = 'file'
    'reveal' = 'file'
    'cost' = 'file'
    'wallet import' = 'file'
    'wallet add' = 'text text'
    'wallet rm' = '@wallets'
    'wallet export' = '@wallets'
    'local exec' = 'command+'
    'open' = '@runs'
    'chain setup' = '=blockchain'
    'chain status' = '=blockchain'
    'chain verify' = '=blockchain'
    'tx show' = 'text'
    'tx bump' = 'text'
    'tx cancel' = 'text'
    'tx release' = 'text'
    'key revoke' = 'text'
    'webhook add' = 'text'
    'webhook show' = 'text'
    'webhook update' = 'text'
    'webhook rm' = 'text'
    'webhook test' = 'text'
    'webhook trigger' = 'text =event-2'
    'webhook deliveries' = 'text'
    'webhook replay' = 'text'
    'db export' = 'file'
    'db import' = 'file'
    'config get' = '=name'
    'config set' = '=name-2 text'
    'config unset' = '=name-2'
    'completion' = '=shell'
    'api' = '=endpoint'
    'schema' = '=name-3'
  }

  $bundles = @{
    'collection create' = 'flags-09ceb5 sending-and-waiting-377103 cost-77d9dd server-b79987 output-d37844'
    'collection show' = 'flags-883978 server-b79987 output-d37844'
    'collection set' = 'settings-d55d06 flags-8365cd sending-and-waiting-39846b verifying-dffe96 server-b79987 output-d37844'
    'collection list' = 'server-b79987 output-d37844'
    'nft mint' = 'flags-9f19b9 metadata-cfd009 sending-and-waiting-377103 cost-77d9dd manifests-3c0757 server-b79987 output-d37844'
    'nft grant' = 'flags-0eda67 metadata-cfd009 sending-and-waiting-377103 cost-77d9dd server-b79987 output-d37844'
    'nft transfer' = 'flags-c8f83a sending-and-waiting-e1a1c8 cost-77d9dd server-b79987 output-d37844'
    'nft list' = 'flags-8c56ed server-b79987 output-d37844'
    'nft show' = 'flags-35cad5 server-b79987 output-d37844'
    'nft wait' = 'sending-and-waiting-6eeee0 server-b79987 output-d37844'
    'nft update' = 'metadata-cfd009 flags-d2feed sending-and-waiting-d906ee cost-77d9dd server-b79987 output-d37844'
    'nft freeze' = 'flags-eca1f2 sending-and-waiting-9d1e12 cost-77d9dd server-b79987 output-d37844'
    'nft burn' = 'flags-eca1f2 sending-and-waiting-8053a0 cost-77d9dd server-b79987 output-d37844'
    'nft history' = 'server-b79987 output-d37844'
    'nft verify' = 'flags-53e557 verifying-4a92f2 server-b79987 output-d37844'
    'batch template' = 'flags-6dc3e8 server-f6609b output-b31709'
    'batch validate' = 'flags-b1213c server-b79987 output-d37844'
    'batch preview' = 'flags-69e72f server-b79987 output-d37844'
    'batch rehearse' = 'flags-5fe629 run-4e8fdf server-f6609b output-d37844'
    'batch mint' = 'flags-26335c run-0288ca sending-and-waiting-70ec7e verifying-679b39 cost-ff796e server-b79987 output-d37844'
    'batch list' = 'flags-adadad server-b79987 output-d37844'
    'batch status' = 'flags-d66875 server-b79987 output-d37844'
    'batch resume' = 'flags-b32f09 run-530bd8 sending-and-waiting-70ec7e verifying-679b39 cost-ff796e server-b79987 output-d37844'
    'batch retry' = 'flags-a5d8ef run-530bd8 sending-and-waiting-70ec7e verifying-679b39 cost-ff796e server-b79987 output-d37844'
    'batch reconcile' = 'flags-cd1516 run-9b16ec sending-and-waiting-6eeee0 verifying-679b39 server-b79987 output-d37844'
    'batch results' = 'flags-31e96e verifying-679b39 server-b79987 output-d37844'
    'batch report' = 'flags-e70599 server-b79987 output-d37844'
    'batch rm' = 'flags-fc3cb1 server-b79987 output-d37844'
    'plan' = 'flags-1d0534 server-b79987 output-40d955'
    'apply' = 'flags-e7c916 cost-b93b4f sending-and-waiting-50fb0b server-b79987 output-d37844'
    'reveal' = 'flags-aa7b25 sending-and-waiting-ed2143 cost-b93b4f verifying-dffe96 server-b79987 output-d37844'
    'cost' = 'flags-42ac52 cost-d35d36 verifying-dffe96 server-b79987 output-d37844'
    'wallet generate' = 'flags-b08e70 server-b79987 output-d37844'
    'wallet import' = 'flags-afb5a1 server-f6609b output-d37844'
    'wallet url' = 'flags-6d551a server-b79987 output-d37844'
    'wallet list' = 'server-f6609b output-d37844'
    'wallet add' = 'server-f6609b output-d37844'
    'wallet rm' = 'server-f6609b output-d37844'
    'wallet export' = 'flags-8018c4 server-f6609b output-700714'
    'local start' = 'flags-dd1193 output-d37844'
    'local stop' = 'output-d37844'
    'local status' = 'output-d37844'
    'local logs' = 'flags-a95bc0 output-b31709'
    'local listen' = 'flags-06ffaf output-74fd8a'
    'local reset' = 'flags-799fb7 output-d37844'
    'local exec' = 'flags-cb71df output-b31709'
    'serve' = 'flags-be3694 output-96993d'
    'worker' = 'flags-930252 output-96993d'
    'open' = 'flags-97a8b4 server-b79987 output-0969bc'
    'chain list' = 'flags-c78c9f output-d37844'
    'chain setup' = 'flags-e52d75 sending-and-waiting-b786d0 output-d37844'
    'chain status' = 'flags-c78c9f output-d37844'
    'chain verify' = 'flags-49dfe5 sending-and-waiting-aeee81 output-d37844'
    'tx list' = 'flags-57e4a1 output-d37844'
    'tx show' = 'flags-7d1d70 output-d37844'
    'tx bump' = 'flags-ff37fe output-d37844'
    'tx cancel' = 'flags-0e91a7 output-d37844'
    'tx unknown' = 'flags-3cd30c output-d37844'
    'tx release' = 'flags-ffe2a5 output-d37844'
    'key create' = 'flags-cb9324 output-d37844'
    'key list' = 'flags-7d1d70 output-d37844'
    'key revoke' = 'flags-7d1d70 output-d37844'
    'webhook add' = 'flags-0f4378 output-d37844'
    'webhook list' = 'flags-7d1d70 output-d37844'
    'webhook show' = 'flags-7d1d70 output-d37844'
    'webhook update' = 'flags-c6245a output-d37844'
    'webhook rm' = 'flags-0e91a7 output-d37844'
    'webhook test' = 'flags-7d1d70 output-d37844'
    'webhook trigger' = 'flags-7d1d70 output-d37844'
    'webhook deliveries' = 'flags-5fc90a output-d37844'
    'webhook replay' = 'flags-85961c output-d37844'
    'db export' = 'flags-c78c9f output-d37844'
    'db import' = 'flags-c78c9f output-d37844'
    'db migrate' = 'flags-c78c9f output-d37844'
    'db status' = 'flags-c78c9f output-d37844'
    'init' = 'flags-755f22 server-f6609b output-d37844'
    'auth login' = 'flags-8776c2 server-b79987 output-d37844'
    'auth status' = 'flags-0a72fb server-b79987 output-d37844'
    'auth logout' = 'flags-ba0c83 server-b79987 output-d37844'
    'config get' = 'server-b79987 output-d37844'
    'config set' = 'flags-d59b4e server-f6609b output-d37844'
    'config unset' = 'flags-a1b3fb output-d37844'
    'config list' = 'flags-620c21 server-b79987 output-d37844'
    'config path' = 'server-f6609b output-d37844'
    'doctor' = 'server-b79987 flags-7e207f output-d37844'
    'completion' = 'output-b31709'
    'api' = 'flags-4f86f0 output-f6c881 server-b79987'
    'schema' = 'output-d37844'
    'mcp' = 'permissions-of-the-agent-5056f7 flags-b36207 server-b79987 output-b31709'
  }

  $flags = @{
    'flags-09ceb5' = '--name - text Name of the collection
--blockchain -b =blockchain Blockchain of the collection
--wallet - @wallets Wallet that owns the collection: an address or @name
--wallet-address ~ @wallets Wallet that owns the collection: an address or @name
--description - text Description; Solana requires one
--image - text Image URL; Solana requires one
--enable-transfer - - Let the API transfer its NFTs
--no-enable-transfer - - Don''t let the API transfer its NFTs (the default; a terminal prompts)
--enable-api - - Let the API mint NFTs (the default)
--no-enable-api - - Don''t let the API mint NFTs
--locked - - Prevent transfers of its NFTs permanently
--is-locked ~ - Prevent transfers of its NFTs permanently
--dynamic - - Let the API update the metadata of its NFTs
--enable-burn - - Let the API burn its NFTs
--royalty - text Royalty of sales, such as 5%
--royalty-receiver - @wallets Receiver of the royalty: an address or @name (the owner)
--file -f file JSON request (- for standard input); flags override it'
    'sending-and-waiting-377103' = '--wait - - Wait until it is deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Print the request without sending it
--yes -y - Don''t prompt before spending on a public network
--again - - Send another request, regardless of the outcome of an earlier one
--operation - text Resume the operation with this UUID, or create one with this ID'
    'cost-77d9dd' = '--max-cost - text Maximum cost of the request: 0.5 (coins) or 10USD
--price - text Price of a coin of the network: 3100 (USD) or 3100EUR'
    'server-b79987' = '--local - - Use the local backend (gdn local start)
--base-url - text URL of the server
--profile - @profiles Configuration profile to use
--state-dir - dir Directory for runs, commands and saved addresses'
    'output-d37844' = '--output -o =output Output format: table, json, ndjson, csv or ids (table)
--json - - Same as --output json
--fields - text Print only these fields
--for-spreadsheet - - Write CSV that a spreadsheet opens without running formulas
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-883978' = '--blockchain -b =blockchain Blockchain of the collections'
    'settings-d55d06' = '--royalty - text Royalty of sales, such as 5%; 0% removes it
--royalty-receiver - @wallets Receiver of the royalty: an address or @name (the owner)
--description - text Description of the collection
--image - text Image of the collection
--banner - text Banner of the collection
--external-link - text Website of the collection
--contract-uri - text URI of complete metadata, instead of these four flags
--enable-api - - Let the API mint NFTs
--no-enable-api - - Don''t let the API mint NFTs
--enable-transfer - - Let the API transfer NFTs
--no-enable-transfer - - Don''t let the API transfer NFTs
--new-owner - @wallets Offer the ownership to this address or @name
--accept-owner - - Accept the ownership that was offered to the wallet
--freeze - - Freeze the metadata of all NFTs permanently'
    'flags-8365cd' = '--wallet - text The owner''s keystore: @name or a file
--password-file - file File with the password; - is standard input
--blockchain -b =blockchain Blockchain of the collection
--dry-run - - Show the changes and their maximum cost; send nothing
--yes -y - Don''t prompt
--rpc-url-file - file File with the JSON-RPC URL of the network'
    'sending-and-waiting-39846b' = '--timeout - text How long the command may take (5m after the first transaction)'
    'verifying-dffe96' = '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or from the server)
--gateway - text IPFS gateway (from the server)'
    'flags-9f19b9' = '--contract -c @collections Collection to mint into
--contract-address ~ @collections Collection to mint into
--contract-addresses ~ @collections Collection to mint into
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver: an address or @name
--receiver-wallet-address ~ @wallets Receiver: an address or @name
--file -f file JSON request or manifest; - is standard input
--dynamic - - Mint dynamic NFTs, whose metadata can be updated'
    'metadata-cfd009' = '--title - text Title
--description - text Description
--image - file Same as --media image=…
--media - pairfile+ Add a file; repeatable
--extra - text+ Add an extra metadata key; repeatable
--attr - text+ Add an attribute; repeatable'
    'manifests-3c0757' = '--run - @run-names Name of the run
--chunk-size - text NFTs per request (50)
--rate - text Maximum number of requests per second
--in-order - - Send rows in the manifest''s order
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--allow-duplicates - - Mint duplicate rows without a prompt'
    'flags-0eda67' = '--contract -c @collections Collection to mint into
--contract-address ~ @collections Collection to mint into
--contract-addresses ~ @collections Collection to mint into
--blockchain -b =blockchain Blockchain of the collection
--sender - @wallets First owner: an address or @name (your profile''s wallet)
--sender-wallet-address ~ @wallets First owner: an address or @name (your profile''s wallet)
--receiver - @wallets Receiver: an address or @name
--receiver-wallet-address ~ @wallets Receiver: an address or @name
--file -f file JSON request (- for standard input); flags override it'
    'flags-c8f83a' = '--receiver - @wallets New owner: an address or @name
--receiver-wallet-address ~ @wallets New owner: an address or @name
--to ~ @wallets New owner: an address or @name
--sender - @wallets Current owner
--sender-wallet-address ~ @wallets Current owner
--token-id - text Token ID
--tokenid ~ text Token ID
--contract -c @collections Collection of the NFT
--contract-address ~ @collections Collection of the NFT
--contract-addresses ~ @collections Collection of the NFT
--blockchain -b =blockchain Blockchain of the NFT
--file -f file JSON request (- for standard input); flags override it'
    'sending-and-waiting-e1a1c8' = '--wait - - Wait until the owner changes (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Print the request without sending it
--yes -y - Don''t prompt before spending on a public network
--again - - Send another request, regardless of the outcome of an earlier one
--operation - text Resume the operation with this UUID, or create one with this ID'
    'flags-8c56ed' = '--contract -c @collections Collection to list
--contract-address ~ @collections Collection to list
--contract-addresses ~ @collections Collection to list
--blockchain -b =blockchain Blockchain of the collection
--limit - text List only the first n NFTs'
    'flags-35cad5' = '--watch - - Show changes until all are final, or until Ctrl-C
--no-image - - Don''t draw the image
--gateway - text IPFS gateway to fetch the image from (a gdn backend''s own)'
    'sending-and-waiting-6eeee0' = '--timeout - text How long the command may take (5m)'
    'flags-d2feed' = '--file -f file JSON file that replaces the whole metadata; - is standard input
--blockchain -b =blockchain Blockchain of the NFT'
    'sending-and-waiting-d906ee' = '--wait - - Wait until it is updated (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Show the difference without sending it
--yes -y - Don''t prompt before spending on a public network
--again - - Send another request, regardless of the outcome of an earlier one
--operation - text Resume the operation with this UUID, or create one with this ID'
    'flags-eca1f2' = '--blockchain -b =blockchain Blockchain of the NFT'
    'sending-and-waiting-9d1e12' = '--wait - - Wait until they are frozen (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Show the NFTs without sending anything
--yes -y - Don''t prompt
--again - - Send another request, regardless of the outcome of an earlier one
--operation - text Resume the operation with this UUID, or create one with this ID'
    'sending-and-waiting-8053a0' = '--wait - - Wait until they are burned (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Show the NFTs without sending anything
--yes -y - Don''t prompt
--again - - Send another request, regardless of the outcome of an earlier one
--operation - text Resume the operation with this UUID, or create one with this ID'
    'flags-53e557' = '--receiver - @wallets Owner of the NFT
--owner ~ @wallets Owner of the NFT
--receiver-wallet-address ~ @wallets Owner of the NFT
--blockchain -b =blockchain Blockchain of the NFT'
    'verifying-4a92f2' = '--on-chain - - Also compare owner, token URI and metadata with chain and storage
--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or from the server)
--gateway - text IPFS gateway (from the server)'
    'flags-6dc3e8' = '--format - =format Format: csv, json, jsonl (csv)
--blockchain -b =blockchain Blockchain of the collection (the configured one, or polygon)
--receiver - @wallets Receiver of the rows'
    'server-f6609b' = '--state-dir - dir Directory for runs, commands and saved addresses'
    'output-b31709' = '--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-b1213c' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--check-files - - Request every file URL first, a few at a time
--preview - - Draw the images of the first rows (terminal only)'
    'flags-69e72f' = '--to - file File to write (<manifest>-preview.html)
--force - - Overwrite an existing file
--open - - Open it in the browser
--remote-images - - Let the page load images from the web
--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)'
    'flags-5fe629' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--check-files - - Request every file URL first, a few at a time
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// files from this trustless gateway, verify and store them
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can''t store
--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'run-4e8fdf' = '--run - @run-names Name of the run (the manifest''s path)
--again - - Mint a finished run again, or rows accepted in another run
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--allow-duplicates - - Mint duplicate rows without a prompt
--adopt - - Treat rows that are already in the collection as minted by this run
--no-lookup - - Don''t search the collection for rows before sending; with --dry-run, don''t contact the server
--marker-key - text Add a unique public value under this key to the metadata of each row, to find the row
--dynamic - - Mint dynamic NFTs, whose metadata can be updated
--chunk-size - text NFTs per request (50)
--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for the collection''s list to catch up (30s, more if it lags)
--in-order - - Send rows in the manifest''s order'
    'flags-26335c' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--check-files - - Request every file URL first, a few at a time'
    'run-0288ca' = '--run - @run-names Name of the run (the manifest''s path)
--again - - Mint a finished run again, or rows accepted in another run
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--allow-duplicates - - Mint duplicate rows without a prompt
--adopt - - Treat rows that are already in the collection as minted by this run
--no-lookup - - Don''t search the collection for rows before sending; with --dry-run, don''t contact the server
--marker-key - text Add a unique public value under this key to the metadata of each row, to find the row
--dynamic - - Mint dynamic NFTs, whose metadata can be updated
--chunk-size - text NFTs per request (50)
--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for the collection''s list to catch up (30s, more if it lags)
--in-order - - Send rows in the manifest''s order
--unrevealed - file Mint this JSON metadata, and commit to the rows for `gdn reveal`'
    'sending-and-waiting-70ec7e' = '--wait - - Wait until all NFTs are deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Print the request without sending it
--yes -y - Don''t prompt before spending on a public network'
    'verifying-679b39' = '--verify - - Compare owner, token URI and metadata with chain and storage; exit code 5 if something differs
--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or from the server)
--gateway - text IPFS gateway (from the server)'
    'cost-ff796e' = '--price - text Price of a coin of the network: 3100 (USD) or 3100EUR
--rpc-url-file - file File with the JSON-RPC URL of the network, for its fees
--max-cost - text Maximum cost of the run: 0.5 (coins) or 10USD
--max-fee-gwei - text Maximum gas price of the run, which waits for cheaper blocks'
    'flags-adadad' = '--all - - Include single commands, each as a run of one request'
    'flags-d66875' = '--contract -c @collections Collection of the run, if several runs match
--watch - - Show changes until all are final, or until Ctrl-C
--costs - - Show the cost of the run so far, from its server'
    'flags-b32f09' = '--contract -c @collections Collection of the run, if several runs match
--retry-failed - - Also retry rows that were rejected or whose NFT failed'
    'run-530bd8' = '--chunk-size - text NFTs per request (50)
--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for the collection''s list to catch up (30s, more if it lags)'
    'flags-a5d8ef' = '--contract -c @collections Collection of the run, if several runs match
--absent - - Retry absent rows with an unknown outcome instead of failed rows'
    'flags-cd1516' = '--contract -c @collections Collection of the run, if several runs match
--row - text+ Set the outcome of a row: the ID of its NFT, or absent; repeatable'
    'run-9b16ec' = '--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for the collection''s list to catch up (30s, more if it lags)'
    'flags-31e96e' = '--contract -c @collections Collection of the run, if several runs match
--status - ,status Show only rows in these states: pending, accepted, deployed, failed, unknown, burned
--costs - - Print the cost of the run after the rows, from its server'
    'flags-e70599' = '--contract -c @collections Collection of the run, if several runs match
--to - file File to write (<run>-report.html)
--force - - Overwrite an existing file
--open - - Open it in the browser
--gateway - text IPFS gateway for images and links (the server''s own)'
    'flags-fc3cb1' = '--contract -c @collections Collection of the run, if several runs match
--finished - - Remove all finished runs, or those on a server or in a collection that flags select
--yes -y - Remove without a prompt'
    'flags-1d0534' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--run - @run-names Name of the run (the manifest''s path)
--rate - text Maximum number of requests per second
--take-over - - Replace changes made elsewhere with the values of the manifest
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--adopt - - Take over the NFTs of a manifest that was moved or renamed
--prune - - Burn NFTs of this run whose rows are no longer in the manifest
--allow-duplicates - - Mint duplicate rows without a prompt
--detailed-exit-code - - Exit with 10 if there are changes, including impossible ones
--out - file Save the plan for `gdn apply`'
    'output-40d955' = '--output -o =output-2 Output format: table, json, ndjson, csv, ids or markdown (table)
--json - - Same as --output json
--fields - text Print only these fields
--for-spreadsheet - - Write CSV that a spreadsheet opens without running formulas
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-e7c916' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--run - @run-names Name of the run (the manifest''s path)
--rate - text Maximum number of requests per second
--take-over - - Replace changes made elsewhere with the values of the manifest
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--adopt - - Take over the NFTs of a manifest that was moved or renamed
--only - =only Make only these changes: mint
--prune - - Accept only a plan that was saved with --prune
--max-burns - text Maximum number of NFTs to burn (0 without a prompt)
--allow-duplicates - - Mint duplicate rows without a prompt'
    'cost-b93b4f' = '--max-cost - text Maximum cost of the run: 0.5 (coins) or 10USD
--price - text Price of a coin of the network: 3100 (USD) or 3100EUR'
    'sending-and-waiting-50fb0b' = '--timeout - text How long the command may take (5m after acceptance)
--yes -y - Don''t prompt'
    'flags-aa7b25' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--run - @run-names Name of the run (the manifest''s path)
--adopt - - Take over the NFTs of a manifest that was moved or renamed'
    'sending-and-waiting-ed2143' = '--dry-run - - Check the manifest and its NFTs, and send nothing
--timeout - text How long the command may take (5m after acceptance)
--yes -y - Don''t prompt'
    'flags-42ac52' = '--contract -c @collections Collection of the drop
--contract-address ~ @collections Collection of the drop
--contract-addresses ~ @collections Collection of the drop
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver of rows that specify none
--receiver-wallet-address ~ @wallets Receiver of rows that specify none
--sender - @wallets First owner of rows that specify none
--sender-wallet-address ~ @wallets First owner of rows that specify none
--map - text+ Read a column as another, or leave it out: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--dynamic - - Estimate dynamic NFTs, whose metadata can be updated'
    'cost-d35d36' = '--price - text Price of a coin of the network: 3100 (USD) or 3100EUR
--rpc-url-file - file File with the JSON-RPC URL of the network, for its fees'
    'flags-b08e70' = '--name - text Name of the wallet (wallet-1, wallet-2, …)
--count - text Number of wallets, named <name>-1, <name>-2, …
--offline - - Generate the key on this machine, without a server
--blockchain -b =blockchain Blockchain of the wallet, with --offline (EVM)
--password-file - file File with the password; - is standard input
--weak-password - - Accept a password of fewer than 8 characters, for tests
--show-private-key - - Also print the private key
--email - text E-mail address of the account (your profile''s email)
--valid-for - text How long the signed URL is valid: 15m, 24h, at most 7d'
    'flags-afb5a1' = '--name - text Name of the wallet (wallet-1, wallet-2, …)
--blockchain -b =blockchain Blockchain of a mnemonic (EVM)
--path - text Derivation path of a mnemonic (m/44''/60''/0''/0/0; Solana m/44''/501''/0''/0'')
--password-file - file File with the password; - is standard input
--weak-password - - Accept a password of fewer than 8 characters, for tests'
    'flags-6d551a' = '--email - text E-mail address of the account (your profile''s email)
--valid-for - text How long the signed URL is valid: 15m, 24h, at most 7d'
    'flags-8018c4' = '--format - =format-2 keystore (encrypted), private-key, or keypair of Solana (keystore)
--to - file New file to write; - is standard output
--password-file - file File with the password; - is standard input'
    'output-700714' = '--json - - Print the exported file and its format as JSON
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-dd1193' = '--port - text Port to listen on (4680, or a free one); 0 picks one
--rate-limits - =rate-limits Rate limits of the API (on)
--api-version - =api-version Version of the API for keys without one (1.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// files from this trustless gateway, verify and store them
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can''t store'
    'flags-a95bc0' = '--follow -f - Show new lines until Ctrl-C
--lines - text Number of lines to show, from the end (100)'
    'flags-06ffaf' = '--forward-to - text+ URL to post events to, or <events>=<url>; repeatable
--event - ,event+ Event types to show; repeatable (''*'')
--email - text E-mail address of the account (the local account)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'output-74fd8a' = '--json - - Print a line of JSON for each event and each response
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-799fb7' = '--yes -y - Don''t prompt'
    'flags-cb71df' = '--rate-limits - =rate-limits Rate limits of the API (on)
--api-version - =api-version Version of the API for keys without one (1.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// files from this trustless gateway, verify and store them
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can''t store
--faults - file Inject the failures that this file describes
--fork - text Fork this network; the URL can be in a file (=@<file>) or in GDN_FORK_URL'
    'flags-be3694' = '--host - text Address to listen on (127.0.0.1)
--port - text Port to listen on (4680); 0 picks one
--data-dir - dir Directory of all data
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password
--role - =role api handles requests, worker processes jobs, all does both (all)
--rate-limits - =rate-limits Rate limits of the API (on)
--api-version - =api-version Version of the API for keys without one (1.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// files from this trustless gateway, verify and store them
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can''t store
--allowed-host - text+ Host header to accept besides loopback; repeatable
--tls-cert - file Serve https with this PEM certificate and its chain
--tls-key - file Its private key (PEM), a file with mode 0600; SIGHUP reloads both
--trust-proxy - text+ Trust X-Forwarded-* headers from this address or network; repeatable
--allow-local-key - - Accept the local account''s key from other machines too
--max-connections - text Maximum number of open connections (2000)
--max-connections-per-address - text Maximum number of connections from one remote address (200)
--single-use-urls - - Let each signed URL generate one wallet only
--drain - text Keep serving for this time after SIGTERM, while /readyz returns 503 (0s)
--log-level - =log-level silent, info or debug (readable warnings, or info with --log-file)
--log-file - file Write the log to this file instead of stderr
--config - file Configuration of the backend (backend.yaml in the data directory)
--faults - file Inject the failures that this file describes, for tests'
    'output-96993d' = '--json - - Print one line of JSON when it is ready
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-930252' = '--data-dir - dir Directory of the configuration, and of files that are stored locally
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password
--config - file Configuration of the backend (backend.yaml in the data directory)
--concurrency - text Maximum number of NFTs whose files are fetched at once (16)
--chain - text+ Work on this blockchain only; repeatable
--health-port - text Port that serves /healthz, /readyz and /metrics; 0 picks one
--host - text Address for that port (127.0.0.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch ipfs:// files from this trustless gateway, verify and store them
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can''t store
--log-level - =log-level silent, info or debug (readable warnings, or info with --log-file)
--log-file - file Write the log to this file instead of stderr'
    'flags-97a8b4' = '--print - - Print the URL without opening it
--contract -c @collections Collection of the run, if several runs match'
    'output-0969bc' = '--json - - Print the URL as JSON without opening it
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'flags-c78c9f' = '--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-e52d75' = '--admin-keystore - file Keystore of the factory''s admin
--password-file - file File with its password; - is standard input
--factory - text Existing factory of this admin
--dry-run - - Show the transactions and their maximum cost; send nothing
--yes -y - Don''t prompt before spending
--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'sending-and-waiting-b786d0' = '--timeout - text How long the command may take (1h after the confirmation)'
    'flags-49dfe5' = '--etherscan-key-file - file File with a key of the Etherscan API
--sourcify-url - text URL of another Sourcify server
--etherscan-url - text URL of another Etherscan API
--creation-tx - text Hash of the transaction that deployed the factory
--to - file Write the standard JSON input to a new file; send nothing
--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'sending-and-waiting-aeee81' = '--timeout - text How long the command may take (5m for the results)'
    'flags-57e4a1' = '--blockchain -b =blockchain Only transactions on this blockchain
--state - =state Only this state: signed, mined, confirmed, final, reverted, lost, cancelled
--limit - text Maximum number (50)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-7d1d70' = '--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-ff37fe' = '--yes -y - Don''t prompt before spending
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-0e91a7' = '--yes -y - Don''t prompt
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-3cd30c' = '--all - - Include released mints
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-ffe2a5' = '--fail-pending - - Fail the pending NFTs instead of minting them
--yes -y - Don''t prompt
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-cb9324' = '--name - text Name of the key
--email - text E-mail address of its account, which is created if it is new
--permission - ,permission+ Permissions of the key; repeatable
--expires - text Expiry: 30d, 12h, or the last day in UTC, such as 2027-01-31 (never)
--api-version - =api-version API version of the key (the backend''s)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-0f4378' = '--event - ,event+ Event types to deliver; repeatable
--email - text E-mail address of the account (the local account)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-c6245a' = '--url - text New URL
--event - ,event+ Event types to deliver; repeatable
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-5fc90a' = '--state - =state-2 Only this state: waiting, delivered, failed
--limit - text Maximum number (50)
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-85961c' = '--id - text+ IDs of the events; repeatable
--since - text All events of this period, such as 24h, delivered or not
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-755f22' = '--hosted - - Use a service at a URL
--local - - Use the local backend (gdn local start)
--base-url - text URL of the service
--key-file - file File with its API key; - is standard input
--store - =store Where to store the key (the keyring, if available)
--blockchain -b =blockchain Default blockchain
--wallet - @wallets Default wallet
--profile - @profiles Name of the profile (default)
--start - - Start the local backend
--no-start - - Don''t start the local backend
--no-check - - Don''t check the server and the key
--yes -y - Replace a profile of that name'
    'flags-8776c2' = '--key-file - file File with the key; - is standard input
--store - =store Where to store the key (the keyring, if available)
--no-check - - Save the key without checking it'
    'flags-0a72fb' = '--check - - Check each key at its server; exit code 4 if one is rejected, 6 if a server is unreachable'
    'flags-ba0c83' = '--all - - Delete every saved key'
    'flags-d59b4e' = '--profile - @profiles Profile to change
--base-url - text With api_key: server of the key'
    'flags-a1b3fb' = '--profile - @profiles Profile to change
--base-url - text With api_key: server whose key is deleted'
    'flags-620c21' = '--profiles - - List the profiles instead; gdn config set profile <name> selects one'
    'flags-7e207f' = '--config - file Configuration of a backend to check
--data-dir - dir Data directory of the backend (the local backend''s)
--database-url - text PostgreSQL of the backend; use GDN_DATABASE_URL for a URL with a password'
    'flags-4f86f0' = '--file -f file JSON request; - is standard input
--input ~ file JSON request; - is standard input
--field - text+ Field of the request; key[]= adds to a list, key:= takes JSON; repeatable
--idempotency-key - text Idempotency key of a request that creates something (a new key)
--dry-run - - Print the request without sending it
--yes -y - Don''t prompt before spending on a public network'
    'output-f6c881' = '--json - - Print it on one line, even in a terminal
--quiet -q - Print only data and errors
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command'
    'permissions-of-the-agent-5056f7' = '--allow-writes - - Offer tools that change something
--allow-spending - - Let tools spend on public networks, with --max-cost
--max-cost - text Maximum cost of the session, with its currency: 5POL or 10USD
--root - dir Directory of the files that tools may read and write (the current one)
--password-file - file Let tools generate wallets with this password, and sign as owners
--toolsets - ,toolsets Tools to offer: default, nfts, runs, wallets, backend, config, all (default)'
    'flags-b36207' = '--call-timeout - text How long a call waits before it returns `running` (50s)'
    'gdn' = '--help -h - Help for the command
--quiet -q - Print only data and errors
--no-input - - Disable prompts
--no-color - - Disable colors
--debug - - Print requests, timings and stack traces to stderr
--version -V - Print the version
--base-url - text URL of the server
--profile - @profiles Configuration profile to use
--state-dir - dir Directory for runs, commands and saved addresses
--output -o =output Output format: table, json, ndjson, csv or ids (table)
--fields - text Print only these fields'
    'help' = '--help -h - Help for the command
--quiet -q - Print only data and errors
--no-input - - Disable prompts
--no-color - - Disable colors
--debug - - Print requests, timings and stack traces to stderr
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
bnb-mainnet
bnb-testnet
arbitrum-one
arbitrum-nova
arbitrum-testnet
moonbeam
moonbase
moonriver
ethereum
ethereum-sepolia
base
base-sepolia
arbitrum-sepolia
optimism-sepolia
polygon-amoy
zora
linea
scroll
sonic
solana
solana-testnet'
    'output' = 'table
json
ndjson
csv
ids'
    'unknown-columns' = 'error
attr
extra
ignore'
    'format' = 'csv
json
jsonl'
    'status' = 'pending
accepted
deployed
failed
unknown
burned'
    'output-2' = 'table
json
ndjson
csv
ids
markdown'
    'only' = 'mint'
    'format-2' = 'keystore
private-key
keypair'
    'rate-limits' = 'on
off'
    'api-version' = '1.1
1.2'
    'event' = 'nft.deployed
nft.failed
collection.deployed
collection.failed
transfer.deployed
transfer.failed
burn.deployed
burn.failed
update.deployed
update.failed
freeze.deployed
freeze.failed
provenance.deployed
provenance.failed
*'
    'role' = 'all
api
worker'
    'log-level' = 'silent
info
debug'
    'state' = 'signed
mined
confirmed
final
reverted
lost
cancelled'
    'permission' = 'collection:create
nft:create
nft:transfer
nft:update
nft:burn
nft:read
wallet:create
all'
    'event-2' = 'nft.deployed
nft.failed
collection.deployed
collection.failed
transfer.deployed
transfer.failed
burn.deployed
burn.failed
update.deployed
update.failed
freeze.deployed
freeze.failed
provenance.deployed
provenance.failed'
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
api_version
map
unknown_columns
storage
storage_endpoint
storage_region
storage_public_url
ipfs_api
email
wallet_url
price_url
price_path
price_currency'
    'name-2' = 'profile
api_key
base_url
blockchain
contract
wallet
rate
api_version
storage
storage_endpoint
storage_region
storage_public_url
ipfs_api
email
wallet_url
price_url
price_path
price_currency'
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
creatednft
updatednft
getpresignedurl
getcollections
getcollectionsettings
freezenft
burnnft
commitprovenance
getprovenances
gettransactions
getnfthistory
getreferences
getcontentreferences
relabelreferences
aliasreferences
getfees
getruncosts
setrunmaxcost
setrunmaxfee'
    'name-3' = 'manifest
manifest-row
metadata
createcollection
createnft
createnfttrans
transfernft
creatednft
updatednft
freezenft
burnnft
commitprovenance
config
user-config
backend'
    'toolsets' = 'default
nfts
runs
wallets
backend
config
all'
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
