# Completions of gdn for fish 3 and later. Generated from the command tree by src/build/completions.mjs.
# Values come from tables, or from gdn, which sanitizes them. Typed text and values are never run or expanded.

function __gdn_words
  switch "$argv[1]"
    case ''
      printf '%s\n' 'collection Create, show, change and list collections' \
        'nft Mint, transfer, update, burn, list and verify NFTs' \
        'batch Mint drops from CSV, JSON or JSONL manifests' \
        'art Generate art from layers' \
        'plan Compare a manifest with the existing NFTs' \
        'apply Make the changes in a plan or manifest' \
        'reveal Reveal NFTs that were minted unrevealed' \
        'cost Estimate the cost of a drop on a network' \
        'wallet Generate, import, name and export wallets' \
        'local Run a local backend in the background' \
        'serve Run the backend in the foreground' \
        'worker Run a worker for a backend on PostgreSQL' \
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
        'schema Print the JSON Schema of a file' \
        'mcp Serve the commands to coding agents as MCP tools' \
        'help Help for commands and topics, and search'
    case 'collection'
      printf '%s\n' 'create Create a collection and wait until it is deployed' \
        'show Show collections by ID or contract address' \
        'set Change royalties, metadata, permissions or owner' \
        'list List the collections created on this machine' \
        'holders List the holders of any token contract' \
        'archive Archive the metadata and files of any NFT contract' \
        'check Check that the files of an NFT contract can be read' \
        'restore Restore an archive into a backend'
    case 'nft'
      printf '%s\n' 'mint Mint NFTs and wait until they are deployed' \
        'grant Mint NFTs to a first owner and transfer them in one step' \
        'transfer Transfer an NFT and wait until its owner changes' \
        'list List the NFTs of a collection' \
        'show Show NFTs by ID' \
        'wait Wait until NFTs are deployed' \
        'update Change the metadata of a dynamic NFT' \
        'freeze Freeze the metadata of NFTs permanently' \
        'burn Burn NFTs' \
        'refresh Refresh the metadata of NFTs on OpenSea' \
        'history Show the history of an NFT' \
        'verify Verify that the server created an NFT, and check its data'
    case 'batch'
      printf '%s\n' 'template Print a sample manifest' \
        'validate Validate a manifest without sending anything' \
        'rarity Rank NFTs by the rarity of their traits' \
        'preview Write an HTML preview of a manifest' \
        'rehearse Rehearse a drop on a copy of its network' \
        'mint Mint every row of a manifest, or resume its run' \
        'list List the runs on this machine' \
        'status Show the rows of a run by state' \
        'resume Resume an interrupted run' \
        'retry Retry the failed rows of a run' \
        'reconcile Resolve the rows with an unknown outcome' \
        'results Show the outcome of every row in a run' \
        'report Write an HTML report of the NFTs that a run minted' \
        'rm Delete a run and its rows from this machine'
    case 'art'
      printf '%s\n' 'init Print an art.yaml for a folder of layers' \
        'check Check whether an art edition is possible' \
        'preview Show a sample of an art edition' \
        'generate Generate the images and manifest of an edition' \
        'import Turn the output of HashLips or sugar into a manifest'
    case 'wallet'
      printf '%s\n' 'generate Generate a wallet and store its key in an encrypted file' \
        'import Import a key into an encrypted file' \
        'url Print a signed URL that generates a wallet' \
        'list List named wallets and addresses' \
        'add Save an address under a name' \
        'group Create or show a group of saved names' \
        'rename Rename a saved address' \
        'rm Delete a saved address or a group' \
        'export Export a keystore or its private key' \
        'proofs Compute Merkle proofs for a list of receivers'
    case 'local'
      printf '%s\n' 'start Start the local backend' \
        'stop Stop the local backend' \
        'status Show whether the local backend is running, and its URL' \
        'logs Show the log of the local backend' \
        'listen Show and forward the events of the local backend' \
        'reset Delete all data of the local backend' \
        'exec Run a command against a temporary backend'
    case 'chain'
      printf '%s\n' 'list List the public networks of a backend' \
        'setup Deploy the factory and authorize signers on a network' \
        'status Show the nodes, fees, factory and signers of a network' \
        'verify Publish the sources of the contracts on a network'
    case 'tx'
      printf '%s\n' 'list List the transactions that a backend has signed' \
        'show Show a transaction with all its attempts' \
        'bump Raise the fees of a pending transaction' \
        'cancel Cancel a pending transaction' \
        'unknown List on-chain mints that are unknown to a backend' \
        'release Accept unknown tokens so that a collection can mint again'
    case 'key'
      printf '%s\n' 'create Create an API key for a backend' \
        'list List the API keys of a backend' \
        'revoke Revoke an API key of a backend'
    case 'webhook'
      printf '%s\n' 'add Add a webhook for deployment events' \
        'list List the webhooks of a backend' \
        'show Show a webhook and its failures' \
        'update Change the URL or events of a webhook' \
        'rm Delete a webhook' \
        'test Send a test event to a webhook' \
        'trigger Send a test event of any type to a webhook' \
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
      printf '%s\n' 'environment Configuration files and environment variables' \
        'exit-codes Exit codes and error codes' \
        'manifest Columns, formats and limits of a manifest' \
        'output Output formats, fields, colors and images' \
        'blockchains Supported blockchains and their features' \
        'security How keys and wallets are protected' \
        'collection Create, show, change and list collections' \
        'nft Mint, transfer, update, burn, list and verify NFTs' \
        'batch Mint drops from CSV, JSON or JSONL manifests' \
        'art Generate art from layers' \
        'plan Compare a manifest with the existing NFTs' \
        'apply Make the changes in a plan or manifest' \
        'reveal Reveal NFTs that were minted unrevealed' \
        'cost Estimate the cost of a drop on a network' \
        'wallet Generate, import, name and export wallets' \
        'local Run a local backend in the background' \
        'serve Run the backend in the foreground' \
        'worker Run a worker for a backend on PostgreSQL' \
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
        'schema Print the JSON Schema of a file' \
        'mcp Serve the commands to coding agents as MCP tools'
  end
end

function __gdn_arguments
  switch "$argv[1]"
    case 'collection show'
      printf '%s\n' '@collections+'
    case 'collection set'
      printf '%s\n' 'text'
    case 'collection holders'
      printf '%s\n' 'text'
    case 'collection archive'
      printf '%s\n' 'text'
    case 'collection check'
      printf '%s\n' 'text'
    case 'collection restore'
      printf '%s\n' 'file'
    case 'nft transfer'
      printf '%s\n' 'text'
    case 'nft show'
      printf '%s\n' 'text+'
    case 'nft wait'
      printf '%s\n' 'text+'
    case 'nft update'
      printf '%s\n' 'text'
    case 'nft freeze'
      printf '%s\n' 'text+'
    case 'nft burn'
      printf '%s\n' 'text+'
    case 'nft refresh'
      printf '%s\n' 'text+'
    case 'nft history'
      printf '%s\n' 'text'
    case 'nft verify'
      printf '%s\n' 'text'
    case 'batch validate'
      printf '%s\n' 'file'
    case 'batch rarity'
      printf '%s\n' 'file'
    case 'batch preview'
      printf '%s\n' 'file'
    case 'batch rehearse'
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
    case 'art init'
      printf '%s\n' 'text'
    case 'art check'
      printf '%s\n' 'text'
    case 'art preview'
      printf '%s\n' 'text'
    case 'art generate'
      printf '%s\n' 'text'
    case 'art import'
      printf '%s\n' 'text'
    case 'plan'
      printf '%s\n' 'file'
    case 'apply'
      printf '%s\n' 'file'
    case 'reveal'
      printf '%s\n' 'file'
    case 'cost'
      printf '%s\n' 'file'
    case 'wallet import'
      printf '%s\n' 'file'
    case 'wallet add'
      printf '%s\n' 'text text'
    case 'wallet group'
      printf '%s\n' 'text text+'
    case 'wallet rename'
      printf '%s\n' 'text text'
    case 'wallet rm'
      printf '%s\n' '@wallets'
    case 'wallet export'
      printf '%s\n' '@wallets'
    case 'wallet proofs'
      printf '%s\n' 'text'
    case 'local exec'
      printf '%s\n' 'command+'
    case 'open'
      printf '%s\n' '@runs'
    case 'chain setup'
      printf '%s\n' '=blockchain'
    case 'chain status'
      printf '%s\n' '=blockchain'
    case 'chain verify'
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
    case 'webhook update'
      printf '%s\n' 'text'
    case 'webhook rm'
      printf '%s\n' 'text'
    case 'webhook test'
      printf '%s\n' 'text'
    case 'webhook trigger'
      printf '%s\n' 'text =event-2'
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
    case 'schema'
      printf '%s\n' '=name-3'
  end
end

function __gdn_bundles
  switch "$argv[1]"
    case 'collection create'
      printf '%s\n' 'flags-15407d sending-and-waiting-8da941 cost-4ae0d6 server-12647a output-31b492'
    case 'collection show'
      printf '%s\n' 'flags-432af9 server-12647a output-31b492'
    case 'collection set'
      printf '%s\n' 'settings-ea9ae2 flags-a9a00d sending-and-waiting-6c0222 verifying-3d2de1 server-12647a output-31b492'
    case 'collection list'
      printf '%s\n' 'server-12647a output-31b492'
    case 'collection holders'
      printf '%s\n' 'flags-68dc64 reading-60a6c3 choosing-32184b server-12647a output-31b492'
    case 'collection archive'
      printf '%s\n' 'flags-ed07d5 reading-2b1e76 limits-0ec39d server-12647a output-31b492'
    case 'collection check'
      printf '%s\n' 'flags-16df06 reading-2b1e76 limits-0ec39d server-12647a output-7bedd8'
    case 'collection restore'
      printf '%s\n' 'flags-db71d7 output-31b492'
    case 'nft mint'
      printf '%s\n' 'flags-136c6d metadata-246efa sending-and-waiting-b2d552 cost-4ae0d6 manifests-8116b0 server-12647a output-31b492'
    case 'nft grant'
      printf '%s\n' 'flags-ced437 metadata-246efa sending-and-waiting-b2d552 cost-4ae0d6 server-12647a output-31b492'
    case 'nft transfer'
      printf '%s\n' 'flags-62ab30 sending-and-waiting-3ae51d cost-4ae0d6 server-12647a output-31b492'
    case 'nft list'
      printf '%s\n' 'flags-8578f9 server-12647a output-31b492'
    case 'nft show'
      printf '%s\n' 'flags-4bed9d server-12647a output-31b492'
    case 'nft wait'
      printf '%s\n' 'sending-and-waiting-6eeee0 server-12647a output-31b492'
    case 'nft update'
      printf '%s\n' 'metadata-246efa flags-3d0ce9 sending-and-waiting-a91e0a cost-4ae0d6 server-12647a output-31b492'
    case 'nft freeze'
      printf '%s\n' 'flags-5c9e0d sending-and-waiting-a868c1 cost-4ae0d6 server-12647a output-31b492'
    case 'nft burn'
      printf '%s\n' 'flags-5c9e0d sending-and-waiting-d64d4f cost-4ae0d6 server-12647a output-31b492'
    case 'nft refresh'
      printf '%s\n' 'flags-e4deed marketplace-e708de sending-and-waiting-db7524 server-12647a output-31b492'
    case 'nft history'
      printf '%s\n' 'flags-763cff server-12647a output-31b492'
    case 'nft verify'
      printf '%s\n' 'flags-7d85ae verifying-5ceb4e server-12647a output-31b492'
    case 'batch template'
      printf '%s\n' 'flags-9432ff server-da4928 output-d9d285'
    case 'batch validate'
      printf '%s\n' 'flags-69dd9f server-12647a output-31b492'
    case 'batch rarity'
      printf '%s\n' 'flags-869258 server-12647a output-31b492'
    case 'batch preview'
      printf '%s\n' 'flags-3d8e6e server-12647a output-31b492'
    case 'batch rehearse'
      printf '%s\n' 'flags-275674 run-cb7e0b server-da4928 output-31b492'
    case 'batch mint'
      printf '%s\n' 'flags-993fb6 receivers-ea0bb1 run-ec44fa sending-and-waiting-767588 verifying-4972e5 cost-842c67 server-12647a output-31b492'
    case 'batch list'
      printf '%s\n' 'flags-adadad server-12647a output-31b492'
    case 'batch status'
      printf '%s\n' 'flags-17b427 server-12647a output-31b492'
    case 'batch resume'
      printf '%s\n' 'flags-090a66 run-a38e3e sending-and-waiting-767588 verifying-4972e5 cost-842c67 server-12647a output-31b492'
    case 'batch retry'
      printf '%s\n' 'flags-263dfc run-a38e3e sending-and-waiting-767588 verifying-4972e5 cost-842c67 server-12647a output-31b492'
    case 'batch reconcile'
      printf '%s\n' 'flags-486742 run-d19a3d sending-and-waiting-6eeee0 verifying-4972e5 server-12647a output-31b492'
    case 'batch results'
      printf '%s\n' 'flags-2d031d verifying-4972e5 server-12647a output-31b492'
    case 'batch report'
      printf '%s\n' 'flags-6ac953 server-12647a output-31b492'
    case 'batch rm'
      printf '%s\n' 'flags-a1e007 server-12647a output-31b492'
    case 'art init'
      printf '%s\n' 'output-d9d285'
    case 'art check'
      printf '%s\n' 'flags-007ca7 output-31b492'
    case 'art preview'
      printf '%s\n' 'flags-58bd54 output-31b492'
    case 'art generate'
      printf '%s\n' 'flags-a8f9e7 output-31b492'
    case 'art import'
      printf '%s\n' 'flags-685e02 output-31b492'
    case 'plan'
      printf '%s\n' 'flags-c488da server-12647a output-7bedd8'
    case 'apply'
      printf '%s\n' 'flags-c380c0 cost-6f1f63 marketplace-fd045b sending-and-waiting-50fb0b server-12647a output-31b492'
    case 'reveal'
      printf '%s\n' 'flags-6bcdea sending-and-waiting-eb853f cost-6f1f63 marketplace-fd045b verifying-7109df server-12647a output-31b492'
    case 'cost'
      printf '%s\n' 'flags-e6f761 cost-61e4fe verifying-3d2de1 server-12647a output-31b492'
    case 'wallet generate'
      printf '%s\n' 'flags-cd1130 server-12647a output-31b492'
    case 'wallet import'
      printf '%s\n' 'flags-081201 server-da4928 output-31b492'
    case 'wallet url'
      printf '%s\n' 'flags-44913c server-12647a output-31b492'
    case 'wallet list'
      printf '%s\n' 'server-da4928 output-31b492'
    case 'wallet add'
      printf '%s\n' 'flags-36b1ec server-da4928 output-31b492'
    case 'wallet group'
      printf '%s\n' 'flags-a65d41 server-da4928 output-31b492'
    case 'wallet rename'
      printf '%s\n' 'server-da4928 output-31b492'
    case 'wallet rm'
      printf '%s\n' 'server-da4928 output-31b492'
    case 'wallet export'
      printf '%s\n' 'flags-4f1d06 server-da4928 output-fdabd3'
    case 'wallet proofs'
      printf '%s\n' 'flags-9a6469 output-31b492'
    case 'local start'
      printf '%s\n' 'flags-d0057d output-31b492'
    case 'local stop'
      printf '%s\n' 'output-31b492'
    case 'local status'
      printf '%s\n' 'output-31b492'
    case 'local logs'
      printf '%s\n' 'flags-54ec35 output-d9d285'
    case 'local listen'
      printf '%s\n' 'flags-409646 output-a80a99'
    case 'local reset'
      printf '%s\n' 'flags-799fb7 output-31b492'
    case 'local exec'
      printf '%s\n' 'flags-1dfdcb output-d9d285'
    case 'serve'
      printf '%s\n' 'flags-498f1e output-990dbf'
    case 'worker'
      printf '%s\n' 'flags-276b68 output-e9ede5'
    case 'open'
      printf '%s\n' 'flags-5f02cc server-12647a output-3c06f6'
    case 'chain list'
      printf '%s\n' 'flags-ef163f output-31b492'
    case 'chain setup'
      printf '%s\n' 'flags-2a70f6 sending-and-waiting-1cb25c output-31b492'
    case 'chain status'
      printf '%s\n' 'flags-ef163f output-31b492'
    case 'chain verify'
      printf '%s\n' 'flags-9273c0 sending-and-waiting-aeee81 output-31b492'
    case 'tx list'
      printf '%s\n' 'flags-ec747d output-31b492'
    case 'tx show'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'tx bump'
      printf '%s\n' 'flags-a4ed35 output-31b492'
    case 'tx cancel'
      printf '%s\n' 'flags-94197e output-31b492'
    case 'tx unknown'
      printf '%s\n' 'flags-39c119 output-31b492'
    case 'tx release'
      printf '%s\n' 'flags-f6ee49 output-31b492'
    case 'key create'
      printf '%s\n' 'flags-05de4e output-31b492'
    case 'key list'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'key revoke'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'webhook add'
      printf '%s\n' 'flags-f80909 output-31b492'
    case 'webhook list'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'webhook show'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'webhook update'
      printf '%s\n' 'flags-5cd448 output-31b492'
    case 'webhook rm'
      printf '%s\n' 'flags-94197e output-31b492'
    case 'webhook test'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'webhook trigger'
      printf '%s\n' 'flags-f61f07 output-31b492'
    case 'webhook deliveries'
      printf '%s\n' 'flags-d78a9e output-31b492'
    case 'webhook replay'
      printf '%s\n' 'flags-c76001 output-31b492'
    case 'db export'
      printf '%s\n' 'flags-ef163f output-31b492'
    case 'db import'
      printf '%s\n' 'flags-ef163f output-31b492'
    case 'db migrate'
      printf '%s\n' 'flags-ef163f output-31b492'
    case 'db status'
      printf '%s\n' 'flags-ef163f output-31b492'
    case 'init'
      printf '%s\n' 'flags-0a57d1 server-da4928 output-31b492'
    case 'auth login'
      printf '%s\n' 'flags-4dc24c server-12647a output-31b492'
    case 'auth status'
      printf '%s\n' 'flags-6a47ec server-12647a output-31b492'
    case 'auth logout'
      printf '%s\n' 'flags-ba0c83 server-12647a output-31b492'
    case 'config get'
      printf '%s\n' 'server-12647a output-31b492'
    case 'config set'
      printf '%s\n' 'flags-31a1f1 server-da4928 output-31b492'
    case 'config unset'
      printf '%s\n' 'flags-a7d54b output-31b492'
    case 'config list'
      printf '%s\n' 'flags-672c77 server-12647a output-31b492'
    case 'config path'
      printf '%s\n' 'server-da4928 output-31b492'
    case 'doctor'
      printf '%s\n' 'server-12647a flags-dde1fc output-31b492'
    case 'completion'
      printf '%s\n' 'output-d9d285'
    case 'api'
      printf '%s\n' 'flags-3898da output-986f87 server-12647a'
    case 'schema'
      printf '%s\n' 'output-31b492'
    case 'mcp'
      printf '%s\n' 'permissions-of-the-agent-5510da flags-b36207 server-12647a output-d9d285'
  end
end

function __gdn_flags
  switch "$argv[1]"
    case 'flags-15407d'
      printf '%s\n' '--name - text Name of the collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--wallet - @wallets Wallet that owns the collection: an address, @name or ENS name' \
        '--wallet-address ~ @wallets Wallet that owns the collection: an address, @name or ENS name' \
        '--description - text Description; Solana requires one' \
        '--image - text Image URL; Solana requires one' \
        '--enable-transfer - - Let the API transfer NFTs' \
        '--no-enable-transfer - - Don\'t let the API transfer NFTs (the default; gdn prompts in a terminal)' \
        '--enable-api - - Let the API mint NFTs (the default)' \
        '--no-enable-api - - Don\'t let the API mint NFTs' \
        '--locked - - Prevent all transfers of NFTs permanently' \
        '--is-locked ~ - Prevent all transfers of NFTs permanently' \
        '--dynamic - - Let the API update the metadata of NFTs' \
        '--enable-burn - - Let the API burn NFTs' \
        '--royalty - text Royalty on sales, such as 5%' \
        '--royalty-receiver - @wallets Address, @name or ENS name that receives the royalty (the owner)' \
        '--max-supply - text Maximum number of NFTs, including burned ones (unlimited)' \
        '--file -f file JSON request, or - for standard input; flags override its fields' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'sending-and-waiting-8da941'
      printf '%s\n' '--wait - - Wait until the collection is deployed (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Print the request without sending it' \
        '--yes -y - Don\'t prompt before spending coins that have value' \
        '--again - - Send another request, regardless of the outcome of earlier requests' \
        '--operation - text UUID of the operation to resume or to create'
    case 'cost-4ae0d6'
      printf '%s\n' '--max-cost - text Maximum cost of the request: 0.5 (coins) or 10USD' \
        '--price - text Price of the network\'s coin: 3100 (USD) or 3100EUR'
    case 'server-12647a'
      printf '%s\n' '--local - - Use the local backend (gdn local start)' \
        '--base-url - text URL of the server' \
        '--profile - @profiles Configuration profile to use' \
        '--state-dir - dir Directory of runs, recorded commands and saved addresses'
    case 'output-31b492'
      printf '%s\n' '--output -o =output Output format: table, json, ndjson, csv or ids (table)' \
        '--json - - Same as --output json' \
        '--fields - text Print only these fields' \
        '--for-spreadsheet - - Write CSV for spreadsheets, with formulas escaped' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-432af9'
      printf '%s\n' '--blockchain -b =blockchain Blockchain of the collections' \
        '--rpc-url - text JSON-RPC URL of a contract\'s chain (GDN_RPC_URL, or the server\'s node)'
    case 'settings-ea9ae2'
      printf '%s\n' '--royalty - text Royalty on sales, such as 5%; 0% removes the royalty' \
        '--royalty-receiver - @wallets Address, @name or ENS name that receives the royalty (the current receiver, or else the owner)' \
        '--description - text Description of the collection' \
        '--image - text Image of the collection' \
        '--banner - text Banner of the collection' \
        '--external-link - text Website of the collection' \
        '--contract-uri - text URI of the complete metadata; can\'t be combined with --image, --banner, --description or --external-link' \
        '--max-supply - text Lower the maximum number of NFTs' \
        '--enable-api - - Let the API mint NFTs' \
        '--no-enable-api - - Don\'t let the API mint NFTs' \
        '--enable-transfer - - Let the API transfer NFTs' \
        '--no-enable-transfer - - Don\'t let the API transfer NFTs' \
        '--new-owner - @wallets Offer ownership to this address, @name or ENS name' \
        '--accept-owner - - Accept ownership that was offered to the wallet' \
        '--freeze - - Freeze the metadata of all NFTs permanently'
    case 'flags-a9a00d'
      printf '%s\n' '--wallet - text The owner\'s keystore: @name or a file' \
        '--password-file - file File with the password, or - for standard input' \
        '--safe - file Write the changes to a new file for the Safe that owns the collection, without sending them' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--dry-run - - Show the changes and their maximum cost without sending them' \
        '--yes -y - Don\'t prompt' \
        '--rpc-url-file - file File with the JSON-RPC URL of the network' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'sending-and-waiting-6c0222'
      printf '%s\n' '--timeout - text How long the command may take (5m for sending and waiting)'
    case 'verifying-3d2de1'
      printf '%s\n' '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server\'s node)' \
        '--gateway - text IPFS gateway (the server\'s gateway)'
    case 'flags-68dc64'
      printf '%s\n' '--contract -c @collections Address or name of the contract' \
        '--blockchain -b =blockchain Blockchain of the contract'
    case 'reading-60a6c3'
      printf '%s\n' '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server\'s node)' \
        '--requests-per-second - text Maximum rate of requests to the node (no limit)' \
        '--block - text List the holders at this block' \
        '--at - text List the holders at this time, such as 2026-11-01T00:00Z'
    case 'choosing-32184b'
      printf '%s\n' '--min - text List only holders with at least this count' \
        '--exclude - file+ Exclude an address, a name, a group, or all entries of a file' \
        '--per - =per Print one line per token instead of per holder: token' \
        '--token-id - text List only holders of this token' \
        '--sample - text Draw a random sample of this many holders' \
        '--seed - text Text that seeds the draw (the hash of the block)' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'flags-ed07d5'
      printf '%s\n' '--contract -c @collections Address or name of the contract' \
        '--blockchain -b =blockchain Blockchain of the contract' \
        '--to - file File to write, such as tides.car' \
        '--force - - Overwrite an existing archive, but keep its files that can no longer be read' \
        '--whole-directory - - Also archive unreferenced files in the same directories'
    case 'reading-2b1e76'
      printf '%s\n' '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server\'s node)' \
        '--requests-per-second - text Maximum rate of requests to the node (no limit)' \
        '--block - text Block at which to read the tokens (the last final block)' \
        '--gateway - text+ Trustless IPFS gateway; repeatable (the server\'s gateway)' \
        '--arweave-gateway - text Gateway for ar URLs (https://arweave.net)' \
        '--allow-private-files - - Also fetch files from private addresses (for development)'
    case 'limits-0ec39d'
      printf '%s\n' '--max-file-size - text Maximum size of a file, such as 50MB (100MiB)' \
        '--max-size - text Maximum total size of the files (20GiB)'
    case 'flags-16df06'
      printf '%s\n' '--contract -c @collections Address or name of the contract' \
        '--blockchain -b =blockchain Blockchain of the contract' \
        '--archive - file Archive to compare the collection with'
    case 'output-7bedd8'
      printf '%s\n' '--output -o =output-2 Output format: table, json, ndjson, csv, ids or markdown (table)' \
        '--json - - Same as --output json' \
        '--fields - text Print only these fields' \
        '--for-spreadsheet - - Write CSV for spreadsheets, with formulas escaped' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-db71d7'
      printf '%s\n' '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' \
        '--intact - - Restore the intact blocks of a damaged archive'
    case 'flags-136c6d'
      printf '%s\n' '--contract -c @collections Address or name of the collection to mint into' \
        '--contract-address ~ @collections Address or name of the collection to mint into' \
        '--contract-addresses ~ @collections Address or name of the collection to mint into' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver: an address, @name or ENS name' \
        '--receiver-wallet-address ~ @wallets Receiver: an address, @name or ENS name' \
        '--file -f file JSON request or manifest, or - for standard input' \
        '--dynamic - - Mint dynamic NFTs, whose metadata can be updated' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'metadata-246efa'
      printf '%s\n' '--title - text Title' \
        '--description - text Description' \
        '--image - file Same as --media image=…' \
        '--media - pairfile+ Add a file; repeatable' \
        '--extra - text+ Add an extra metadata key; repeatable' \
        '--attr - text+ Add an attribute or a typed trait (\'tag(number)=5\'); repeatable'
    case 'sending-and-waiting-b2d552'
      printf '%s\n' '--wait - - Wait until all NFTs are deployed (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Print the request without sending it' \
        '--yes -y - Don\'t prompt before spending coins that have value' \
        '--again - - Send another request, regardless of the outcome of earlier requests' \
        '--operation - text UUID of the operation to resume or to create'
    case 'manifests-8116b0'
      printf '%s\n' '--run - @run-names Name that identifies the run (the manifest\'s path)' \
        '--chunk-size - text NFTs per request (50)' \
        '--rate - text Maximum number of requests per second' \
        '--in-order - - Send rows in the manifest\'s order' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--allow-duplicates - - Mint duplicate rows without a prompt'
    case 'flags-ced437'
      printf '%s\n' '--contract -c @collections Address or name of the collection to mint into' \
        '--contract-address ~ @collections Address or name of the collection to mint into' \
        '--contract-addresses ~ @collections Address or name of the collection to mint into' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--sender - @wallets Address, @name or ENS name of the first owner (your profile\'s wallet)' \
        '--sender-wallet-address ~ @wallets Address, @name or ENS name of the first owner (your profile\'s wallet)' \
        '--receiver - @wallets Receiver: an address, @name or ENS name' \
        '--receiver-wallet-address ~ @wallets Receiver: an address, @name or ENS name' \
        '--file -f file JSON request, or - for standard input; flags override its fields' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'flags-62ab30'
      printf '%s\n' '--receiver - @wallets New owner: an address, @name or ENS name' \
        '--receiver-wallet-address ~ @wallets New owner: an address, @name or ENS name' \
        '--to ~ @wallets New owner: an address, @name or ENS name' \
        '--sender - @wallets Current owner' \
        '--sender-wallet-address ~ @wallets Current owner' \
        '--token-id - text Token ID' \
        '--tokenid ~ text Token ID' \
        '--contract -c @collections Address or name of the NFT\'s collection' \
        '--contract-address ~ @collections Address or name of the NFT\'s collection' \
        '--contract-addresses ~ @collections Address or name of the NFT\'s collection' \
        '--blockchain -b =blockchain Blockchain of the NFT' \
        '--file -f file JSON request, or - for standard input; flags override its fields' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'sending-and-waiting-3ae51d'
      printf '%s\n' '--wait - - Wait until the owner changes (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Print the request without sending it' \
        '--yes -y - Don\'t prompt before spending coins that have value' \
        '--again - - Send another request, regardless of the outcome of earlier requests' \
        '--operation - text UUID of the operation to resume or to create'
    case 'flags-8578f9'
      printf '%s\n' '--contract -c @collections Address or name of the collection to list' \
        '--contract-address ~ @collections Address or name of the collection to list' \
        '--contract-addresses ~ @collections Address or name of the collection to list' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--limit - text List only the first n NFTs'
    case 'flags-4bed9d'
      printf '%s\n' '--watch - - Show changes until nothing is in progress or you press Ctrl-C' \
        '--no-image - - Don\'t draw the image' \
        '--gateway - text IPFS gateway for the image or metadata (the gdn backend\'s gateway)' \
        '--contract -c @collections Collection of the token ID: address or name' \
        '--blockchain -b =blockchain Blockchain of a token' \
        '--rpc-url - text JSON-RPC URL of a token\'s chain (GDN_RPC_URL, or the server\'s node)'
    case 'sending-and-waiting-6eeee0'
      printf '%s\n' '--timeout - text How long the command may take (5m)'
    case 'flags-3d0ce9'
      printf '%s\n' '--file -f file JSON file that replaces all metadata, or - for standard input' \
        '--contract -c @collections Collection of the token ID: address or name' \
        '--blockchain -b =blockchain Blockchain of the NFT'
    case 'sending-and-waiting-a91e0a'
      printf '%s\n' '--wait - - Wait until the NFT is updated (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Show the changes without sending them' \
        '--yes -y - Don\'t prompt before spending coins that have value' \
        '--again - - Send another request, regardless of the outcome of earlier requests' \
        '--operation - text UUID of the operation to resume or to create'
    case 'flags-5c9e0d'
      printf '%s\n' '--contract -c @collections Collection of the token ID: address or name' \
        '--blockchain -b =blockchain Blockchain of the NFT'
    case 'sending-and-waiting-a868c1'
      printf '%s\n' '--wait - - Wait until all NFTs are frozen (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Show the NFTs without sending anything' \
        '--yes -y - Don\'t prompt' \
        '--again - - Send another request, regardless of the outcome of earlier requests' \
        '--operation - text UUID of the operation to resume or to create'
    case 'sending-and-waiting-d64d4f'
      printf '%s\n' '--wait - - Wait until all NFTs are burned (the default)' \
        '--no-wait - - Return when the request is accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Show the NFTs without sending anything' \
        '--yes -y - Don\'t prompt' \
        '--again - - Send another request, regardless of the outcome of earlier requests' \
        '--operation - text UUID of the operation to resume or to create'
    case 'flags-e4deed'
      printf '%s\n' '--contract -c @collections Address or name of the collection' \
        '--contract-address ~ @collections Address or name of the collection' \
        '--contract-addresses ~ @collections Address or name of the collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--run - @run-names Refresh the NFTs that this run minted' \
        '--rate - text Maximum number of requests per second (1)'
    case 'marketplace-e708de'
      printf '%s\n' '--opensea-key-file - file File with the OpenSea API key' \
        '--opensea-url - text URL of another server with the OpenSea API'
    case 'sending-and-waiting-db7524'
      printf '%s\n' '--timeout - text How long the command may take (no limit)'
    case 'flags-763cff'
      printf '%s\n' '--contract -c @collections Collection of the token ID: address or name' \
        '--blockchain -b =blockchain Blockchain of a token'
    case 'flags-7d85ae'
      printf '%s\n' '--receiver - @wallets Expected owner of the NFT' \
        '--owner ~ @wallets Expected owner of the NFT' \
        '--receiver-wallet-address ~ @wallets Expected owner of the NFT' \
        '--contract -c @collections Collection of the token ID: address or name' \
        '--blockchain -b =blockchain Blockchain of the NFT' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'verifying-5ceb4e'
      printf '%s\n' '--on-chain - - Also compare owner, token URI and metadata with the chain and the storage' \
        '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server\'s node)' \
        '--gateway - text IPFS gateway (the server\'s gateway)' \
        '--beacon-url - text+ drand relay for shuffled drops; repeatable' \
        '--beacon - file Beacon file that replaces drand in tests'
    case 'flags-9432ff'
      printf '%s\n' '--format - =format Format: csv, json, jsonl (csv)' \
        '--blockchain -b =blockchain Blockchain of the collection (the configured one, or polygon)' \
        '--receiver - @wallets Receiver of the NFTs' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'server-da4928'
      printf '%s\n' '--state-dir - dir Directory of runs, recorded commands and saved addresses'
    case 'output-d9d285'
      printf '%s\n' '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-69dd9f'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--check-files - - Also check that every file URL returns a file' \
        '--unrevealed - file Also check the placeholder, and apply the rules for unrevealed drops' \
        '--shuffle - - Use a later drand round to assign the rows to NFTs at random (requires --unrevealed)' \
        '--shuffle-margin - text Time from sealing the drop to the drand round, at least the time to finality (30m)' \
        '--for - =for Check the rules of a marketplace' \
        '--preview - - Draw the images of the first rows (terminal only)'
    case 'flags-869258'
      printf '%s\n' '--traits - - List how many NFTs have each trait value, instead of ranking the NFTs' \
        '--limit - text Maximum number of results' \
        '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)'
    case 'flags-3d8e6e'
      printf '%s\n' '--to - file File to write (<manifest>-preview.html)' \
        '--force - - Overwrite a file that gdn did not write' \
        '--open - - Open the file in the browser' \
        '--remote-images - - Let the page load images from the web' \
        '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)'
    case 'flags-275674'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--check-files - - Also check that every file URL returns a file' \
        '--allow-private-files - - Also fetch files from private addresses (for development)' \
        '--allow-html-files - - Also store HTML files, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway' \
        '--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can\'t store' \
        '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'run-cb7e0b'
      printf '%s\n' '--run - @run-names Name that identifies the run (the manifest\'s path)' \
        '--again - - Mint a finished run again, or rows that were accepted in another run' \
        '--new-rows - - Mint new rows even if sent rows are missing from the manifest' \
        '--allow-duplicates - - Mint duplicate rows without a prompt' \
        '--adopt - - Treat rows that are already in the collection as minted by this run' \
        '--allow-exchanged - - Allow rows to exchange values, content or IDs' \
        '--no-lookup - - Don\'t search the collection for rows before sending; with --dry-run, don\'t contact the server' \
        '--marker-key - text Metadata key for a unique public value that identifies each row' \
        '--dynamic - - Mint dynamic NFTs, whose metadata can be updated' \
        '--chunk-size - text NFTs per request (50)' \
        '--rate - text Maximum number of requests per second' \
        '--upload-concurrency - text Number of concurrent uploads of local files (8)' \
        '--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)' \
        '--in-order - - Send rows in the manifest\'s order'
    case 'flags-993fb6'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--check-files - - Also check that every file URL returns a file'
    case 'receivers-ea0bb1'
      printf '%s\n' '--to - file Mint the only row to each receiver in a CSV file (receiver[,count]) or a group, such as @team' \
        '--to-stdin - - Read the list of receivers from standard input' \
        '--merge - - Add up the counts of receivers that are listed more than once' \
        '--skip-contracts - - Skip receivers that are contracts or burn addresses'
    case 'run-ec44fa'
      printf '%s\n' '--run - @run-names Name that identifies the run (the manifest\'s path)' \
        '--again - - Mint a finished run again, or rows that were accepted in another run' \
        '--new-rows - - Mint new rows even if sent rows are missing from the manifest' \
        '--allow-duplicates - - Mint duplicate rows without a prompt' \
        '--adopt - - Treat rows that are already in the collection as minted by this run' \
        '--allow-exchanged - - Allow rows to exchange values, content or IDs' \
        '--no-lookup - - Don\'t search the collection for rows before sending; with --dry-run, don\'t contact the server' \
        '--marker-key - text Metadata key for a unique public value that identifies each row' \
        '--dynamic - - Mint dynamic NFTs, whose metadata can be updated' \
        '--chunk-size - text NFTs per request (50)' \
        '--batch-size ~ text NFTs per request (50)' \
        '--rate - text Maximum number of requests per second' \
        '--upload-concurrency - text Number of concurrent uploads of local files (8)' \
        '--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)' \
        '--in-order - - Send rows in the manifest\'s order' \
        '--unrevealed - file Mint with the placeholder metadata in this JSON file, and commit to the rows for `gdn reveal`' \
        '--shuffle - - Use a later drand round to assign the rows to NFTs at random (requires --unrevealed)' \
        '--shuffle-margin - text Time from sealing the drop to the drand round, at least the time to finality (30m)'
    case 'sending-and-waiting-767588'
      printf '%s\n' '--wait - - Wait until all NFTs are deployed (the default)' \
        '--no-wait - - Return when all requests are accepted' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--dry-run - - Run all checks without sending anything' \
        '--yes -y - Don\'t prompt before spending coins that have value, or if rows were edited'
    case 'verifying-4972e5'
      printf '%s\n' '--verify - - Compare owner, token URI and metadata with the chain and the storage; exit code 5 if something differs' \
        '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server\'s node)' \
        '--gateway - text IPFS gateway (the server\'s gateway)'
    case 'cost-842c67'
      printf '%s\n' '--price - text Price of the network\'s coin: 3100 (USD) or 3100EUR' \
        '--rpc-url-file - file File with the JSON-RPC URL from which to read the fees of the network' \
        '--max-cost - text Maximum cost of the run: 0.5 (coins) or 10USD' \
        '--max-fee-gwei - text Maximum gas price; the run waits while the price is higher'
    case 'flags-adadad'
      printf '%s\n' '--all - - Include single commands, each as a run of one request'
    case 'flags-17b427'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--watch - - Show changes until nothing is in progress or you press Ctrl-C' \
        '--costs - - Get the current cost of the run from its server'
    case 'flags-090a66'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--retry-failed - - Also retry rows that were rejected or whose NFT failed'
    case 'run-a38e3e'
      printf '%s\n' '--chunk-size - text NFTs per request (50)' \
        '--batch-size ~ text NFTs per request (50)' \
        '--rate - text Maximum number of requests per second' \
        '--upload-concurrency - text Number of concurrent uploads of local files (8)' \
        '--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)'
    case 'flags-263dfc'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--absent - - Retry absent rows with an unknown outcome instead of failed rows'
    case 'flags-486742'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--row - text+ Set the outcome of a row: the ID of its NFT, or absent; repeatable'
    case 'run-d19a3d'
      printf '%s\n' '--rate - text Maximum number of requests per second' \
        '--upload-concurrency - text Number of concurrent uploads of local files (8)' \
        '--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)'
    case 'flags-2d031d'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--status - ,status Show only rows in these states: pending, accepted, deployed, failed, unknown, burned, abandoned' \
        '--costs - - Also print the cost that the server reports for the run'
    case 'flags-6ac953'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--to - file File to write (<run>-report.html)' \
        '--force - - Overwrite a file that gdn did not write' \
        '--open - - Open the file in the browser' \
        '--gateway - text IPFS gateway for images and links (the server\'s own)'
    case 'flags-a1e007'
      printf '%s\n' '--contract -c @collections Address or name of the collection, if several runs match' \
        '--finished - - Delete all finished runs, or only those on the selected server or in the selected collection' \
        '--yes -y - Delete without a prompt'
    case 'flags-007ca7'
      printf '%s\n' '--count - text Number of NFTs, including one-of-ones' \
        '--seed - text Text that seeds the random choices (gdn)' \
        '--strict - - Fail if trait counts differ from the weights' \
        '--fit - =fit How to scale images whose size differs from the output: contain, cover, fill'
    case 'flags-58bd54'
      printf '%s\n' '--count - text Number of NFTs, including one-of-ones' \
        '--seed - text Text that seeds the random choices (gdn)' \
        '--sample - text Number of NFTs in the sample (12)' \
        '--fit - =fit How to scale images whose size differs from the output: contain, cover, fill' \
        '--out - file Write a page to this file (art-preview.html with --open)' \
        '--force - - Overwrite a file that gdn did not write' \
        '--open - - Open the page in the browser'
    case 'flags-a8f9e7'
      printf '%s\n' '--count - text Number of NFTs, including one-of-ones' \
        '--seed - text Text that seeds the random choices (gdn)' \
        '--out - text Output folder' \
        '--strict - - Fail if trait counts differ from the weights' \
        '--from - text Number of the first NFT to generate (1)' \
        '--only - text Number of NFTs to generate (all)' \
        '--fit - =fit How to scale images whose size differs from the output: contain, cover, fill' \
        '--threads - text Number of images to generate concurrently (one per core, at most 8)' \
        '--clean - - Delete unfinished folders that have different settings'
    case 'flags-685e02'
      printf '%s\n' '--out - file Manifest to write (manifest.csv)' \
        '--force - - Overwrite an existing file'
    case 'flags-c488da'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--run - @run-names Name that identifies the run (the manifest\'s path)' \
        '--rate - text Maximum number of requests per second' \
        '--take-over - - Replace changes made outside the manifest with the values of the manifest' \
        '--new-rows - - Mint new rows even if sent rows are missing from the manifest' \
        '--adopt - - Use the NFTs of a manifest that was moved or renamed' \
        '--allow-exchanged - - Allow rows to exchange values, content or IDs' \
        '--beacon-url - text+ drand relay for shuffled drops; repeatable' \
        '--beacon - file Beacon file that replaces drand in tests' \
        '--prune - - Burn NFTs of this run whose rows are no longer in the manifest' \
        '--allow-duplicates - - Mint duplicate rows without a prompt' \
        '--detailed-exit-code - - Exit with code 10 if there are changes, including impossible ones' \
        '--out - file Save the plan for `gdn apply`'
    case 'flags-c380c0'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--run - @run-names Name that identifies the run (the manifest\'s path)' \
        '--rate - text Maximum number of requests per second' \
        '--take-over - - Replace changes made outside the manifest with the values of the manifest' \
        '--new-rows - - Mint new rows even if sent rows are missing from the manifest' \
        '--adopt - - Use the NFTs of a manifest that was moved or renamed' \
        '--allow-exchanged - - Allow rows to exchange values, content or IDs' \
        '--beacon-url - text+ drand relay for shuffled drops; repeatable' \
        '--beacon - file Beacon file that replaces drand in tests' \
        '--only - =only Make only one kind of change: mint' \
        '--prune - - Accept only a plan that was saved with --prune' \
        '--max-burns - text Maximum number of NFTs to burn (0 without a prompt)' \
        '--allow-duplicates - - Mint duplicate rows without a prompt'
    case 'cost-6f1f63'
      printf '%s\n' '--max-cost - text Maximum cost of the run: 0.5 (coins) or 10USD' \
        '--price - text Price of the network\'s coin: 3100 (USD) or 3100EUR'
    case 'marketplace-fd045b'
      printf '%s\n' '--refresh - - Refresh the changed metadata on OpenSea afterwards' \
        '--opensea-key-file - file File with the OpenSea API key' \
        '--opensea-url - text URL of another server with the OpenSea API'
    case 'sending-and-waiting-50fb0b'
      printf '%s\n' '--timeout - text How long the command may take (5m after acceptance)' \
        '--yes -y - Don\'t prompt'
    case 'flags-6bcdea'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--run - @run-names Name that identifies the run (the manifest\'s path)' \
        '--adopt - - Use the NFTs of a manifest that was moved or renamed' \
        '--abandon-rows - text Number of unminted rows of a shuffled drop to abandon permanently'
    case 'sending-and-waiting-eb853f'
      printf '%s\n' '--dry-run - - Check the manifest and its NFTs without sending anything' \
        '--timeout - text How long the command may take (5m after acceptance)' \
        '--yes -y - Don\'t prompt'
    case 'verifying-7109df'
      printf '%s\n' '--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server\'s node)' \
        '--gateway - text IPFS gateway (the server\'s gateway)' \
        '--beacon-url - text+ drand relay for shuffled drops; repeatable' \
        '--beacon - file Beacon file that replaces drand in tests'
    case 'flags-e6f761'
      printf '%s\n' '--contract -c @collections Address or name of the drop\'s collection' \
        '--contract-address ~ @collections Address or name of the drop\'s collection' \
        '--contract-addresses ~ @collections Address or name of the drop\'s collection' \
        '--blockchain -b =blockchain Blockchain of the collection' \
        '--receiver - @wallets Receiver for rows without one' \
        '--receiver-wallet-address ~ @wallets Receiver for rows without one' \
        '--sender - @wallets First owner of the NFTs whose row has no sender' \
        '--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' \
        '--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable' \
        '--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' \
        '--dynamic - - Estimate the cost of dynamic NFTs, whose metadata can be updated'
    case 'cost-61e4fe'
      printf '%s\n' '--price - text Price of the network\'s coin: 3100 (USD) or 3100EUR' \
        '--rpc-url-file - file File with the JSON-RPC URL from which to read the fees of the network'
    case 'flags-cd1130'
      printf '%s\n' '--name - text Name of the wallet (wallet-1, wallet-2, …)' \
        '--count - text Number of wallets, named <name>-1, <name>-2, …' \
        '--offline - - Generate the key on this machine, without a server' \
        '--blockchain -b =blockchain Blockchain of the wallet, with --offline (EVM)' \
        '--password-file - file File with the password, or - for standard input' \
        '--weak-password - - Accept a password of fewer than 8 characters, for tests' \
        '--show-private-key - - Also print the private key' \
        '--email - text E-mail address of the account (your profile\'s email)' \
        '--valid-for - text How long the signed URL is valid, such as 24h; at most 7d'
    case 'flags-081201'
      printf '%s\n' '--name - text Name of the wallet (wallet-1, wallet-2, …)' \
        '--blockchain -b =blockchain Blockchain of a mnemonic (EVM)' \
        '--path - text Derivation path of a mnemonic (m/44\'/60\'/0\'/0/0; Solana m/44\'/501\'/0\'/0\')' \
        '--password-file - file File with the password, or - for standard input' \
        '--weak-password - - Accept a password of fewer than 8 characters, for tests'
    case 'flags-44913c'
      printf '%s\n' '--email - text E-mail address of the account (your profile\'s email)' \
        '--valid-for - text How long the signed URL is valid, such as 24h; at most 7d'
    case 'flags-36b1ec'
      printf '%s\n' '--from - file CSV file with the columns name, address and groups, or - for standard input'
    case 'flags-a65d41'
      printf '%s\n' '--add - text+ Name or address to add to the group; repeatable' \
        '--remove - text+ Member to remove from the group; repeatable'
    case 'flags-4f1d06'
      printf '%s\n' '--format - =format-2 Format: keystore, private-key, or keypair for Solana (keystore)' \
        '--to - file New file to write, or - for standard output' \
        '--password-file - file File with the password, or - for standard input'
    case 'output-fdabd3'
      printf '%s\n' '--json - - Print the exported file and its format as JSON' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-9a6469'
      printf '%s\n' '--format - =format-3 Contract that verifies the proofs: oz, thirdweb, seadrop' \
        '--params - file JSON file with the MintParams of SeaDrop' \
        '--out - dir New directory for the root, the tree and the proofs' \
        '--force - - Replace an earlier directory of proofs'
    case 'flags-d0057d'
      printf '%s\n' '--port - text Port to listen on (the last one, or 4680); 0 selects a free port' \
        '--rate-limits - =rate-limits Rate limits of the API (on)' \
        '--api-version - =api-version API version for keys that have no version (1.1)' \
        '--allow-private-files - - Also fetch files from private addresses (for development)' \
        '--allow-html-files - - Also store HTML files, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway' \
        '--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can\'t store'
    case 'flags-54ec35'
      printf '%s\n' '--follow -f - Show new lines until you press Ctrl-C' \
        '--lines - text Number of lines to show, from the end (100)'
    case 'flags-409646'
      printf '%s\n' '--forward-to - text+ URL to post events to, or <events>=<url>; repeatable' \
        '--event - ,event+ Event types to show; repeatable (\'*\')' \
        '--email - text E-mail address of the account (the local account)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'output-a80a99'
      printf '%s\n' '--json - - Print a line of JSON for each event and each response' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-799fb7'
      printf '%s\n' '--yes -y - Don\'t prompt'
    case 'flags-1dfdcb'
      printf '%s\n' '--rate-limits - =rate-limits Rate limits of the API (on)' \
        '--api-version - =api-version API version for keys that have no version (1.1)' \
        '--allow-private-files - - Also fetch files from private addresses (for development)' \
        '--allow-html-files - - Also store HTML files, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway' \
        '--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can\'t store' \
        '--faults - file Inject the faults that this file defines' \
        '--fork - text Fork this network; instead of the URL, use @<file>, or set GDN_FORK_URL'
    case 'flags-498f1e'
      printf '%s\n' '--host - text Address to listen on (127.0.0.1)' \
        '--port - text Port to listen on (4680); 0 selects a free port' \
        '--data-dir - dir Data directory of the backend' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' \
        '--role - =role Role: api handles requests, worker processes jobs, all does both (all)' \
        '--rate-limits - =rate-limits Rate limits of the API (on)' \
        '--api-version - =api-version API version for keys that have no version (1.1)' \
        '--allow-private-files - - Also fetch files from private addresses (for development)' \
        '--allow-html-files - - Also store HTML files, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway' \
        '--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can\'t store' \
        '--allowed-host - text+ Accept requests to this host, in addition to loopback hosts; repeatable' \
        '--tls-cert - file Serve HTTPS with this PEM certificate and its chain' \
        '--tls-key - file PEM private key of the certificate, with mode 0600; SIGHUP reloads both files' \
        '--trust-proxy - text+ Trust X-Forwarded-* headers from this address or network; repeatable' \
        '--allow-local-key - - Also accept the local account\'s key from other machines' \
        '--max-connections - text Maximum number of open connections (2000)' \
        '--max-connections-per-address - text Maximum number of connections from one remote address (200)' \
        '--single-use-urls - - Let each signed URL generate only one wallet' \
        '--drain - text Keep serving for this time after SIGTERM, while /readyz returns 503 (0s)' \
        '--log-level - =log-level Log level: silent, info or debug (readable warnings, or info with --log-file)' \
        '--log-file - file Write the log to this file instead of stderr' \
        '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--faults - file Inject the faults that this file defines, for tests'
    case 'output-990dbf'
      printf '%s\n' '--json - - Print one line of JSON when the backend is ready' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-276b68'
      printf '%s\n' '--data-dir - dir Directory for the configuration and for locally stored files' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' \
        '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--concurrency - text Maximum number of NFTs whose files are fetched at once (64)' \
        '--chain - text+ Process only the jobs of this blockchain; repeatable' \
        '--health-port - text Port that serves /healthz, /readyz and /metrics; 0 selects a free port' \
        '--host - text Address of the health port (127.0.0.1)' \
        '--allow-private-files - - Also fetch files from private addresses (for development)' \
        '--allow-html-files - - Also store HTML files, from uploads and file URLs' \
        '--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway' \
        '--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can\'t store' \
        '--log-level - =log-level Log level: silent, info or debug (readable warnings, or info with --log-file)' \
        '--log-file - file Write the log to this file instead of stderr'
    case 'output-e9ede5'
      printf '%s\n' '--json - - Print one line of JSON when the worker is ready' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-5f02cc'
      printf '%s\n' '--print - - Print the URL without opening it' \
        '--contract -c @collections Address or name of the collection, if several runs match' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'output-3c06f6'
      printf '%s\n' '--json - - Print the URL as JSON without opening it' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'flags-ef163f'
      printf '%s\n' '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-2a70f6'
      printf '%s\n' '--admin-keystore - file Keystore of the factory\'s admin' \
        '--password-file - file File with the password, or - for standard input' \
        '--factory - text Address of an existing factory of this admin' \
        '--dry-run - - Show the transactions and their maximum cost without sending them' \
        '--yes -y - Don\'t prompt before spending' \
        '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'sending-and-waiting-1cb25c'
      printf '%s\n' '--timeout - text How long the command may take (1h after you confirm)'
    case 'flags-9273c0'
      printf '%s\n' '--etherscan-key-file - file File with the Etherscan API key' \
        '--sourcify-url - text URL of another Sourcify server' \
        '--etherscan-url - text URL of another Etherscan API' \
        '--creation-tx - text Hash of the transaction that deployed the factory' \
        '--to - file Write the standard JSON input to a new file without submitting it' \
        '--config - file Configuration of the backend (backend.yaml in the data directory)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'sending-and-waiting-aeee81'
      printf '%s\n' '--timeout - text How long the command may take (5m for the results)'
    case 'flags-ec747d'
      printf '%s\n' '--blockchain -b =blockchain Show only transactions on this blockchain' \
        '--state - =state Show only transactions in this state: signed, mined, confirmed, final, reverted, lost, cancelled' \
        '--limit - text Maximum number of transactions (50)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-f61f07'
      printf '%s\n' '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-a4ed35'
      printf '%s\n' '--yes -y - Don\'t prompt before spending' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-94197e'
      printf '%s\n' '--yes -y - Don\'t prompt' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-39c119'
      printf '%s\n' '--all - - Include released mints' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-f6ee49'
      printf '%s\n' '--fail-pending - - Fail the pending NFTs instead of minting them' \
        '--yes -y - Don\'t prompt' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-05de4e'
      printf '%s\n' '--name - text Name of the key' \
        '--email - text E-mail address of the account; gdn creates the account if it does not exist' \
        '--permission - ,permission+ Permissions of the key; repeatable' \
        '--expires - text Expiry: 30d, 12h, or the last day in UTC, such as 2027-01-31 (never)' \
        '--api-version - =api-version API version of the key (the backend\'s)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-f80909'
      printf '%s\n' '--event - ,event+ Event types to deliver; repeatable' \
        '--email - text E-mail address of the account (the local account)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-5cd448'
      printf '%s\n' '--url - text New URL' \
        '--event - ,event+ Event types to deliver; repeatable' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-d78a9e'
      printf '%s\n' '--state - =state-2 Show only deliveries in this state: waiting, delivered, failed' \
        '--limit - text Maximum number of deliveries (50)' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-c76001'
      printf '%s\n' '--id - text+ IDs of the events; repeatable' \
        '--since - text Replay all events of this period, such as 24h, including delivered ones' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-0a57d1'
      printf '%s\n' '--hosted - - Use a hosted service' \
        '--local - - Use the local backend (gdn local start)' \
        '--base-url - text URL of the service' \
        '--key-file - file File with the API key, or - for standard input' \
        '--store - =store Where to store the key (the keyring, if available)' \
        '--blockchain -b =blockchain Default blockchain' \
        '--wallet - @wallets Default wallet' \
        '--profile - @profiles Name of the profile (default, or local for the local backend)' \
        '--start - - Start the local backend' \
        '--no-start - - Don\'t start the local backend' \
        '--no-check - - Don\'t check the server and the key' \
        '--yes -y - Replace an existing profile with this name'
    case 'flags-4dc24c'
      printf '%s\n' '--key-file - file File with the key, or - for standard input' \
        '--store - =store Where to store the key (the keyring, if available)' \
        '--no-check - - Save the key without checking it'
    case 'flags-6a47ec'
      printf '%s\n' '--check - - Check each key with its server; exit code 4 if a key is rejected, 6 if a server is unreachable'
    case 'flags-ba0c83'
      printf '%s\n' '--all - - Delete every saved key'
    case 'flags-31a1f1'
      printf '%s\n' '--profile - @profiles Profile to change' \
        '--base-url - text With api_key: URL of the server for the key'
    case 'flags-a7d54b'
      printf '%s\n' '--profile - @profiles Profile to change' \
        '--base-url - text With api_key: URL of the server whose key is deleted'
    case 'flags-672c77'
      printf '%s\n' '--profiles - - List the profiles instead of the configuration'
    case 'flags-dde1fc'
      printf '%s\n' '--config - file Configuration of a backend to check' \
        '--data-dir - dir Data directory of the backend (the local backend\'s)' \
        '--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead'
    case 'flags-3898da'
      printf '%s\n' '--file -f file JSON request, or - for standard input' \
        '--input ~ file JSON request, or - for standard input' \
        '--field - text+ Field of the request; key[]= adds to a list, key:= accepts JSON; repeatable' \
        '--idempotency-key - text Idempotency key of a request that creates something (a new key)' \
        '--dry-run - - Print the request without sending it' \
        '--yes -y - Don\'t prompt before spending coins that have value'
    case 'output-986f87'
      printf '%s\n' '--json - - Print the response on one line, even in a terminal' \
        '--quiet -q - Omit notes and progress' \
        '--no-color - - Disable colors' \
        '--no-input - - Disable prompts' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--help -h - Help for this command'
    case 'permissions-of-the-agent-5510da'
      printf '%s\n' '--allow-writes - - Offer tools that change something' \
        '--allow-spending - - Let tools spend coins on public networks, up to --max-cost' \
        '--max-cost - text Maximum cost of the session, with its currency: 5POL or 10USD' \
        '--root - dir Directory that tools can read and write (the current directory)' \
        '--password-file - file File with the password of the wallets that tools generate or use for signing' \
        '--toolsets - ,toolsets Toolsets to offer: default, nfts, runs, wallets, backend, config or all (the toolset default)' \
        '--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)'
    case 'flags-b36207'
      printf '%s\n' '--call-timeout - text How long a call waits before it returns `running` (50s)'
    case 'gdn'
      printf '%s\n' '--help -h - Help for the command' \
        '--quiet -q - Omit notes and progress' \
        '--no-input - - Disable prompts' \
        '--no-color - - Disable colors' \
        '--debug - - Print requests, timings and stack traces to stderr' \
        '--version -V - Print the version' \
        '--base-url - text URL of the server' \
        '--profile - @profiles Configuration profile to use' \
        '--state-dir - dir Directory of runs, recorded commands and saved addresses' \
        '--output -o =output Output format: table, json, ndjson, csv or ids (table)' \
        '--fields - text Print only these fields'
    case 'help'
      printf '%s\n' '--help -h - Help for the command' \
        '--quiet -q - Omit notes and progress' \
        '--no-input - - Disable prompts' \
        '--no-color - - Disable colors' \
        '--debug - - Print requests, timings and stack traces to stderr' \
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
        'bnb-mainnet' \
        'bnb-testnet' \
        'arbitrum-one' \
        'arbitrum-nova' \
        'arbitrum-testnet' \
        'moonbeam' \
        'moonbase' \
        'moonriver' \
        'ethereum' \
        'ethereum-sepolia' \
        'base' \
        'base-sepolia' \
        'arbitrum-sepolia' \
        'optimism-sepolia' \
        'polygon-amoy' \
        'zora' \
        'linea' \
        'scroll' \
        'sonic' \
        'solana' \
        'solana-testnet'
    case 'output'
      printf '%s\n' 'table' \
        'json' \
        'ndjson' \
        'csv' \
        'ids'
    case 'per'
      printf '%s\n' 'token'
    case 'output-2'
      printf '%s\n' 'table' \
        'json' \
        'ndjson' \
        'csv' \
        'ids' \
        'markdown'
    case 'unknown-columns'
      printf '%s\n' 'error' \
        'attr' \
        'extra' \
        'ignore'
    case 'format'
      printf '%s\n' 'csv' \
        'json' \
        'jsonl'
    case 'for'
      printf '%s\n' 'opensea'
    case 'status'
      printf '%s\n' 'pending' \
        'accepted' \
        'deployed' \
        'failed' \
        'unknown' \
        'burned' \
        'abandoned'
    case 'fit'
      printf '%s\n' 'contain' \
        'cover' \
        'fill'
    case 'only'
      printf '%s\n' 'mint'
    case 'format-2'
      printf '%s\n' 'keystore' \
        'private-key' \
        'keypair'
    case 'format-3'
      printf '%s\n' 'oz' \
        'thirdweb' \
        'seadrop'
    case 'rate-limits'
      printf '%s\n' 'on' \
        'off'
    case 'api-version'
      printf '%s\n' '1.1' \
        '1.2'
    case 'event'
      printf '%s\n' 'nft.deployed' \
        'nft.failed' \
        'collection.deployed' \
        'collection.failed' \
        'transfer.deployed' \
        'transfer.failed' \
        'burn.deployed' \
        'burn.failed' \
        'update.deployed' \
        'update.failed' \
        'freeze.deployed' \
        'freeze.failed' \
        'provenance.deployed' \
        'provenance.failed' \
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
        'mined' \
        'confirmed' \
        'final' \
        'reverted' \
        'lost' \
        'cancelled'
    case 'permission'
      printf '%s\n' 'collection:create' \
        'nft:create' \
        'nft:transfer' \
        'nft:update' \
        'nft:burn' \
        'nft:read' \
        'wallet:create' \
        'all'
    case 'event-2'
      printf '%s\n' 'nft.deployed' \
        'nft.failed' \
        'collection.deployed' \
        'collection.failed' \
        'transfer.deployed' \
        'transfer.failed' \
        'burn.deployed' \
        'burn.failed' \
        'update.deployed' \
        'update.failed' \
        'freeze.deployed' \
        'freeze.failed' \
        'provenance.deployed' \
        'provenance.failed'
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
        'api_version' \
        'map' \
        'unknown_columns' \
        'storage' \
        'storage_endpoint' \
        'storage_region' \
        'storage_public_url' \
        'ipfs_api' \
        'email' \
        'wallet_url' \
        'price_url' \
        'price_path' \
        'price_currency' \
        'ens_rpc_url'
    case 'name-2'
      printf '%s\n' 'profile' \
        'api_key' \
        'base_url' \
        'blockchain' \
        'contract' \
        'wallet' \
        'rate' \
        'api_version' \
        'storage' \
        'storage_endpoint' \
        'storage_region' \
        'storage_public_url' \
        'ipfs_api' \
        'email' \
        'wallet_url' \
        'price_url' \
        'price_path' \
        'price_currency' \
        'ens_rpc_url'
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
        'creatednft' \
        'updatednft' \
        'getpresignedurl' \
        'getcollections' \
        'getcollectionsettings' \
        'freezenft' \
        'burnnft' \
        'commitprovenance' \
        'getprovenances' \
        'gettransactions' \
        'getnfthistory' \
        'getnftowners' \
        'getsupply' \
        'getreferences' \
        'getcontentreferences' \
        'relabelreferences' \
        'aliasreferences' \
        'getfees' \
        'getruncosts' \
        'setrunmaxcost' \
        'setrunmaxfee'
    case 'name-3'
      printf '%s\n' 'manifest' \
        'manifest-row' \
        'metadata' \
        'createcollection' \
        'createnft' \
        'createnfttrans' \
        'transfernft' \
        'creatednft' \
        'updatednft' \
        'freezenft' \
        'burnnft' \
        'commitprovenance' \
        'art' \
        'config' \
        'user-config' \
        'backend'
    case 'toolsets'
      printf '%s\n' 'default' \
        'nfts' \
        'runs' \
        'wallets' \
        'backend' \
        'config' \
        'all'
  end
end

# Prints the flags of a command, one per line; for "gdn", the flags that may precede a command.
function __gdn_flags_of
  set -l bundles (__gdn_bundles $argv[1] | string split -n ' ')
  test (count $bundles) -gt 0; or set bundles $argv[1]
  for bundle in $bundles
    __gdn_flags $bundle
  end
end

# Prints the kind of value that the flag $argv[1] takes, according to the flags after it; nothing for an unknown flag.
function __gdn_takes
  for line in $argv[2..]
    set -l part (string split -m 3 ' ' -- $line)
    if contains -- $argv[1] $part[1..2]
      string replace -r '\+$' '' -- $part[3]
      return
    end
  end
end

# Prints values and descriptions in the format of fish, with the part of the word before the value.
function __gdn_offer -a before
  for line in $argv[2..]
    set -l part (string split -m 1 -- ' ' $line)
    printf '%s%s\t%s\n' $before $part[1] "$part[2]"
  end
end

# Prints the values of a kind. Arguments: the kind, the part of the word before the value, the typed part of the value,
# and the words of the line.
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
