"""The sentences of `cures.toml`, for `makemessages`; tests/architecture/test_data_files.py writes them."""

from __future__ import annotations

from django.utils.translation import gettext_noop

CURES = (
    gettext_noop(
        "Open it in the program it comes from and save it again, or send its text as UTF-8. Then upload it anew."
    ),
    gettext_noop("Check that the right file was chosen and that it holds text. Then upload it anew."),
    gettext_noop("Remove its password and upload it anew: Ragsite asks for none."),
    gettext_noop(
        "It holds pictures of pages and no text. "
        "Run text recognition (OCR) on it, such as ocrmypdf, and upload the result."
    ),
    gettext_noop("Split it and upload the parts, or raise the limits under Ingestion in the settings."),
    gettext_noop("Convert it to one of the formats that are read (docs/formats.md), such as PDF or plain text."),
    gettext_noop("Split it or upload its plain text, or raise Ingestion:ParseTimeoutSeconds. Then retry."),
    gettext_noop("Save it again in its program, or upload it as PDF or plain text."),
    gettext_noop(
        "Work on it was cut off again and again: see the log of the workers, often it lacks memory. "
        "Split the file, then retry."
    ),
    gettext_noop("Give the file a shorter name without control characters and upload it anew."),
    gettext_noop("Upload the files in several parts, or raise the limits under Ingestion in the settings."),
    gettext_noop("Two files would be the same document. Rename one of them, or leave it out."),
    gettext_noop("Another connector brings a document of this name. Give one of them a prefix of its own."),
    gettext_noop("A newer version was sent meanwhile and is the one that stands. There is nothing to do."),
    gettext_noop("Its text was not kept by an older version of Ragsite. Upload the file again, or run its connector."),
    gettext_noop("The collection holds vectors of another model. Use another collection, or set Embedding:Model back."),
    gettext_noop("Change how texts of the collection are cut: its settings no longer fit those of the server."),
    gettext_noop("Choose the language of the collection, or change it on the collection's page first."),
    gettext_noop("Import into a new collection: this one compares vectors in another way."),
    gettext_noop("Look at the chunks that the sentence names, and mend them where they are held. Then import again."),
    gettext_noop("See that nobody writes to the collection there meanwhile. Then retry."),
    gettext_noop("Export the collection again, or mend the lines that the sentence names. Then import the file again."),
    gettext_noop("Export the collection again, or mend the line that the sentence names. Then import the file again."),
    gettext_noop("Choose a file that was exported from a collection, here or on another server."),
    gettext_noop("Export the collection again and see that the whole file arrives, then import it."),
    gettext_noop(
        "The page of what is missing in the collection lists them. Ingest their documents again, then copy it."
    ),
    gettext_noop("Copy it under another name, or delete the collection that has the name."),
    gettext_noop("Check that the place still exists and that the server may read it. Then run the connector again."),
    gettext_noop("The folder is not there. Check its path, and that it is mounted on the machine of the workers."),
    gettext_noop("Add the folder to Ingestion:SyncFolders in the settings, or choose one that is allowed."),
    gettext_noop(
        "Nothing was deleted. Check that the place is the right one and not only unmounted, then run it again."
    ),
    gettext_noop("Open the address in a browser from the server's network. Once it answers, run the connector again."),
    gettext_noop("The place answers slowly. Run the connector again later, or fetch fewer addresses at a time."),
    gettext_noop("Enter the address that the page ends at."),
    gettext_noop("Correct the address in the connector."),
    gettext_noop(
        "The address leads into a private network, which is read only where Ingestion:AllowedPrivateNetworks has it."
    ),
    gettext_noop("Check the repository's address, its branch, and that it can be read without a password."),
    gettext_noop("The file lies in Git LFS, which is not fetched. Upload it by itself, or keep it in the repository."),
    gettext_noop("Whoever runs the server can install git."),
    gettext_noop("The repository is large or its server slow. Run the connector again later."),
    gettext_noop("Whoever runs the server can install git 2.37 or newer."),
    gettext_noop("Correct the branch in the connector."),
    gettext_noop("Its connector was deleted. Make it again where its files are still wanted."),
    gettext_noop("The log of the workers has the cause under the job's number. Retry once it is mended."),
    gettext_noop("Wait until jobs have ended, then send the files again."),
    gettext_noop("Start it again if it is still wanted."),
    gettext_noop("Something was changed meanwhile. Look at what there is now, and start it again."),
    gettext_noop("Its collection was deleted. Make it again, and upload the files to it."),
    gettext_noop(
        "The collection's embedding connection is gone or cannot be used. Mend it, or choose another, then retry."
    ),
    gettext_noop("The service that embeds is busy or its limits are used up. Retry later, or raise its limits."),
    gettext_noop("The service that embeds failed; the log of the workers has more. Test the connection, then retry."),
    gettext_noop(
        "Test the embedding connection and mend its key, address or model. "
        "Cut passages shorter where it reads less. Then retry."
    ),
    gettext_noop(
        "The service that embeds took too long. Raise the connection's time limit or lower its batch size, then retry."
    ),
    gettext_noop("Nobody answers at the embedding connection's address. Mend it, then retry."),
    gettext_noop("Set the dimension of the embedding connection to what its model gives, then retry."),
    gettext_noop("Choose a connection that embeds for the collection, then retry."),
    gettext_noop("The embedding model failed on it; the log of the workers has the cause. Retry, or split the file."),
    gettext_noop("Something it needs was busy or down. Retry it later."),
    gettext_noop("Correct what the sentence names, and send it again."),
    gettext_noop("Look at what is there now, then retry."),
)
